import { test } from "vitest";
import { anySequence } from "../../test/job-happenings.js";

test("any sequence of events leads where the rules written down a second time lead, 5,000 times", () => {
  anySequence(5_000);
});
