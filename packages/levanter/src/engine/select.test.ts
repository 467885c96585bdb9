import * as tf from "@tensorflow/tfjs-core";
import { afterEach, describe, expect, test, vi } from "vitest";
import { selectEngine } from "./select.js";
import type { EngineSelection } from "./select.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

/** What was chosen and what was said on the way. */
async function select(selection: EngineSelection): Promise<{ description: string; notices: string[] }> {
  const notices: string[] = [];
  const engine = await selectEngine({ ...selection, onNotice: (line) => notices.push(line) });
  const { description } = engine;
  await engine.dispose();
  return { description, notices };
}

describe("auto", () => {
  test("is the compiled engine where no native tfjs is installed, and says nothing about that", async () => {
    const chosen = await select({ threads: 1 });
    expect(chosen.description).toMatch(/^onnx: ONNX Runtime 1\.30\.0 \(koffi\), 1 thread, /);
    expect(chosen.notices).toEqual([]);
  });

  test("names the absent package and the command that installs it when asked to say all", async () => {
    const { notices } = await select({ verbose: true });
    expect(notices).toEqual([expect.stringMatching(/^engine "tfjs-node-gpu" cannot run here: @tensorflow\/tfjs-node-gpu is not installed\. Run: pnpm .* @tensorflow\/tfjs-node-gpu@4\.22\.0/)]);
  });

  test("does not look for a GPU on device cpu", async () => {
    expect((await select({ device: "cpu", verbose: true })).notices).toEqual([]);
  });
});

test.each([
  [{ engine: "onxx" }, 'engine is "onxx"; it must be one of auto, onnx, tfjs-node-gpu, tfjs-node, wasm, cpu'],
  [{ engine: "toString" }, 'engine is "toString"; '],
  [{ device: "gpu" }, 'device is "gpu"; it must be one of auto, cpu, webgpu, cuda'],
  [{ precision: "bfloat16" }, 'precision is "bfloat16"; it must be one of float32, float16'],
])("a name that is none is refused: %j", async (selection, message) => {
  await expect(select(selection as EngineSelection)).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringContaining(message) as string });
});

test("the runtime's way can be forced by the environment", async () => {
  vi.stubEnv("MARIN_ENGINE_RUNTIME", "node");
  expect((await select({ engine: "onnx", threads: 2 })).description).toMatch(/\(node\), 2 threads/);
});

test.each(["onnx", "wasm", "cpu"] as const)("%s runs when asked for by name, leaving tfjs's current backend as it was", async (name) => {
  await select({ engine: "cpu" });
  await tf.setBackend("cpu");
  expect((await select({ engine: name })).description).toMatch(new RegExp(`^${name}: `));
  expect(tf.getBackend()).toBe("cpu");
});

test.each(["tfjs-node", "tfjs-node-gpu"] as const)("%s, not installed, is an error with the cure when asked for by name", async (name) => {
  await expect(selectEngine({ engine: name })).rejects.toMatchObject({
    code: "LEVANTER_ENGINE_UNAVAILABLE",
    message: expect.stringContaining(`@tensorflow/${name} is not installed. Run: pnpm `) as string,
  });
});

test.each([
  [{ engine: "wasm", device: "webgpu" }, 'engine "wasm" does not compute on device "webgpu". Use device "auto" or "cpu", or engine "onnx".'],
  [{ engine: "tfjs-node-gpu", device: "cpu" }, 'engine "tfjs-node-gpu" does not compute on device "cpu". Use device "auto" or "cuda".'],
] as const)("a device that the engine does not compute on is an error: %o", async (selection, message) => {
  await expect(selectEngine(selection)).rejects.toMatchObject({ code: "LEVANTER_ENGINE_UNAVAILABLE", message });
});
