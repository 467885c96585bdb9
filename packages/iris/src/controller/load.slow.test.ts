import { test } from "vitest";
import { loadAgainstModel } from "../../test/load-against-model.js";

test("40 jobs with failures, cancels, preemptions and worker kills end as the model says, and leave nothing behind", () => loadAgainstModel(40, 15_000));
