import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { bigram } from "../../../test/bigram.js";
import { storeOf, zipfDocuments } from "../../../test/token-stores.js";
import { useVulkan } from "../../../test/webgpu/software-vulkan.js";
import type { TokenStore } from "../../data/token-store.js";
import { Trainer } from "../../trainer.js";

const environment = await useVulkan();

const V = 30;
const model = bigram(V, 4);
let root: string;
let tokens: TokenStore;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-device-"));
  tokens = await storeOf(join(root, "tokens"), zipfDocuments(1, 200, V), V);
});
afterAll(async () => {
  await rm(root, { recursive: true });
  await environment.remove();
});

const config = { steps: 6, batchSize: 4, microbatchSize: 2, sequenceLength: 8, warmup: 0, checkpointEvery: 3, evaluateEvery: 3, threads: 1, engine: "onnx" } as const;

/** The losses and validation losses that a run has written. */
async function curve(directory: string): Promise<number[]> {
  const lines = (await readFile(join(directory, "metrics.jsonl"), "utf8")).trimEnd().split("\n");
  return lines.flatMap((line) => {
    const { loss, validation } = JSON.parse(line) as { loss: number; validation?: { loss: number } };
    return validation === undefined ? [loss] : [loss, validation.loss];
  });
}

it("a run with accumulation, validation and checkpoints gives on webgpu what it gives on the CPU, also when it goes on from a checkpoint", async () => {
  const [onCpu, onDevice] = [join(root, "cpu"), join(root, "webgpu")];
  await new Trainer({ ...config, device: "cpu" }).train({ model, tokens, validation: tokens, directory: onCpu });
  const interrupted = new AbortController();
  const trainer = new Trainer({ ...config, device: "webgpu" });
  await expect(
    trainer.train({ model, tokens, validation: tokens, directory: onDevice, signal: interrupted.signal, onStep: ({ step }) => { if (step === 4) interrupted.abort(); } }),
  ).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED" });
  await new Trainer({ ...config, device: "webgpu" }).train({ model, tokens, validation: tokens, directory: onDevice });
  const [expected, found] = [await curve(onCpu), await curve(onDevice)];
  expect(found).toHaveLength(expected.length);
  found.forEach((loss, at) => { expect(Math.abs(loss - (expected[at] as number))).toBeLessThan(1e-4); });
});
