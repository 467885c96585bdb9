import { test } from "vitest";
import { killUnderLoad } from "../../test/kill-under-load.js";

test("Kill -9 the controller mid-run: 5 times at random points under load, no task is lost and none runs twice", () => killUnderLoad(5));
