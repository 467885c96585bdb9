import { describe, expect, it } from "vitest";
import { OnnxModel } from "./onnx-model.js";

describe("OnnxModel", () => {
  it("refuses ScatterND with a reduction, but not without", () => {
    const model = new OnnxModel("scatter");
    expect(() => { model.node("ScatterND", ["a", "i", "u"], ["y"], { reduction: { text: "add" } }); }).toThrow(/"scatter" lowers to ScatterND/);
    model.node("ScatterND", ["a", "i", "u"], ["y"]);
    expect(model.nodeCount).toBe(1);
  });

  it("refuses constants over 1 MiB, and takes those of 1 MiB", () => {
    const model = new OnnxModel("constants");
    expect(model.constant(new Float32Array(1 << 18), "float32", [1 << 18])).toMatch(/^#/);
    expect(() => model.constant(new Float32Array((1 << 18) + 1), "float32", [(1 << 18) + 1])).toThrow(/holds a constant of 1048580 bytes/);
  });

  it("stores equal constants once, and tells types and shapes apart", () => {
    const model = new OnnxModel("constants");
    const first = model.constant(Float32Array.of(0, 0), "float32", [2]);
    expect(model.constant(Float32Array.of(0, 0), "float32", [2])).toBe(first);
    expect(model.constant(Int32Array.of(0, 0), "int32", [2])).not.toBe(first);
    expect(model.constant(Float32Array.of(0, 0), "float32", [2, 1])).not.toBe(first);
    expect(model.int64([0])).not.toBe(first);
  });
});
