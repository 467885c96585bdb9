import { afterAll, expect, it } from "vitest";
import { LEFT_TO_CPU } from "../../../test/conformance/left-to-cpu.js";
import { describeConformance } from "../../../test/conformance/suite.js";
import { useVulkan } from "../../../test/webgpu/software-vulkan.js";
import { DeviceEngine } from "./device-engine.js";

const environment = await useVulkan();
afterAll(() => environment.remove());

/** What WebGPU's shading language promises, and no more (w3.org/TR/WGSL, "Accuracy of Concrete Floating Point Expressions"): sines and cosines to 2^-11, arc functions to 6.77e-5. */
const tolerances = { "tf.sin": 2 ** -11, "tf.cos": 2 ** -11, "tf.tan": 2 ** -8, "tf.acos": 6.77e-5, "tf.asin": 6.77e-5 };

let engine: DeviceEngine;
async function create(): Promise<DeviceEngine> {
  engine = await DeviceEngine.create({ device: "webgpu", threads: 1 });
  return engine;
}

describeConformance("webgpu", create, { runs: 1, calls: 3, seed: 20261130, tolerances });

it("the operators that webgpu leaves to the CPU, by operation, are those of OPERATORS.md", () => {
  const found: Record<string, string[]> = {};
  for (const line of engine.leftToCpu) {
    const [, operation = "", operator = ""] = /^(.*): (\w+)(?: x \d+)?$/.exec(line) ?? [];
    (found[operation] ??= []).push(operator);
  }
  expect(found).toEqual(LEFT_TO_CPU);
});
