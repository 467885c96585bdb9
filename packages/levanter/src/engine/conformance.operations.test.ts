import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../test/conformance/operations.js";
import { describeConformance } from "../../test/conformance/suite.js";
import { kernelsOf } from "../../test/conformance/support-table.js";
import { OnnxEngine } from "./compiled-engine.js";
import { EagerEngine } from "./eager-engine.js";
import { recordedKernels } from "./recording-kernels.js";

const options = { runs: 1, calls: 3, seed: 20261130 };

describeConformance("onnx", () => OnnxEngine.create({ threads: 1 }), options);
describeConformance("cpu", () => EagerEngine.create("cpu"), options);

describe("the operations", () => {
  it("reach every kernel that compiles", () => {
    const reached = new Set(OPERATIONS.flatMap((operation) => kernelsOf(operation, true)));
    expect(recordedKernels().filter((kernel) => !reached.has(kernel))).toEqual([]);
  });
});
