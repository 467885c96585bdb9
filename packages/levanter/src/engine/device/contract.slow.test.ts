import * as tf from "@tensorflow/tfjs-core";
import { afterAll, expect, it } from "vitest";
import { describeEngine } from "../../../test/conformance/engine-contract.js";
import { useVulkan } from "../../../test/webgpu/software-vulkan.js";
import { formatExplanation } from "../explain/format.js";
import { DeviceEngine } from "./device-engine.js";

const environment = await useVulkan();
afterAll(() => environment.remove());

describeEngine("onnx on webgpu", () => DeviceEngine.create({ device: "webgpu", threads: 1 }));

it("a program says what of it was left to the CPU, and so does the engine", async () => {
  const engine = await DeviceEngine.create({ device: "webgpu", threads: 1 });
  const specs = { x: { shape: [4], dtype: "int32" } } as const;
  const [lookup, plain] = [
    await engine.compile("lookup", ({ x }) => ({ y: tf.oneHot(x as tf.Tensor1D, 3, 1, 0, "float32") }), specs),
    await engine.compile("plain", ({ x }) => ({ y: tf.add(x as tf.Tensor, 1) }), specs),
  ];
  expect(engine.leftToCpu).toEqual(["lookup: OneHot"]);
  expect(formatExplanation(await lookup.explain())).toMatch(/^lookup \(onnx\): .*\n\nleft to the CPU: OneHot\n/);
  expect(formatExplanation(await plain.explain())).toMatch(/^plain \(onnx\): .*\n\nleft to the CPU: nothing\n/);
  await engine.dispose();
});
