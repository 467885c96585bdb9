import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { OPERATIONS } from "../../test/conformance/operations.js";
import { describeConformance } from "../../test/conformance/suite.js";
import { kernelsOf, supportTable } from "../../test/conformance/support-table.js";
import { OnnxEngine } from "./compiled-engine.js";
import { EagerEngine } from "./eager-engine.js";
import { recordedKernels } from "./recording-kernels.js";

const options = { runs: 1, calls: 3, seed: 20261130 };

const onnx = describeConformance("onnx", () => OnnxEngine.create({ threads: 1 }), options);
const cpu = describeConformance("cpu", () => EagerEngine.create("cpu"), options);
// tfjs's own backend lacks some; the table says which.
const wasm = describeConformance("wasm", () => EagerEngine.create("wasm"), { ...options, required: false });

describe("the operations", () => {
  it("reach every kernel that compiles", () => {
    const reached = new Set(OPERATIONS.flatMap((operation) => kernelsOf(operation, true)));
    expect(recordedKernels().filter((kernel) => !reached.has(kernel))).toEqual([]);
  });

  it("stand in OPERATORS.md as they are: run this file with -u where they should", async () => {
    await expect(supportTable({ onnx, cpu, wasm })).toMatchFileSnapshot(fileURLToPath(new URL("../../OPERATORS.md", import.meta.url)));
  });
});
