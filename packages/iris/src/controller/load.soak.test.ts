import { test } from "vitest";
import { loadAgainstModel } from "../../test/load-against-model.js";

test("200 jobs with failures, cancels, preemptions and worker kills for 5 minutes end as the model says, and leave nothing behind", () => loadAgainstModel(200, 280_000));
