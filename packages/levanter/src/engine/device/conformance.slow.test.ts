import { afterAll, expect, it } from "vitest";
import { describeConformance } from "../../../test/conformance/suite.js";
import { useVulkan } from "../../../test/webgpu/software-vulkan.js";
import { DeviceEngine } from "./device-engine.js";

const environment = await useVulkan();
afterAll(() => environment.remove());

/** What WebGPU's shading language promises, and no more (w3.org/TR/WGSL, "Accuracy of Concrete Floating Point Expressions"): sines and cosines to 2^-11, arc functions to 6.77e-5. */
const tolerances = { "tf.sin": 2 ** -11, "tf.cos": 2 ** -11, "tf.tan": 2 ** -8, "tf.acos": 6.77e-5, "tf.asin": 6.77e-5 };

/** What ONNX Runtime's provider has no kernel for, be it for the type of the operands. Training a language model uses none of them. */
const left = ["Abs", "Cast", "IsInf", "MatMul", "Mod", "Neg", "OneHot", "Or", "Round", "Selu", "Sign", "Xor"];

let engine: DeviceEngine;
async function create(): Promise<DeviceEngine> {
  engine = await DeviceEngine.create({ device: "webgpu", threads: 1 });
  return engine;
}

describeConformance("webgpu", create, { runs: 1, calls: 3, seed: 20261130, tolerances });

it("the operators that webgpu leaves to the CPU, in all operations together, are known", () => {
  const found = engine.leftToCpu.map((line) => line.replace(/^.*: /, "").replace(/ x \d+$/, ""));
  expect([...new Set(found)].sort()).toEqual(left);
});
