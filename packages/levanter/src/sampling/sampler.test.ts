import { afterAll, beforeAll, expect, it } from "vitest";
import { OnnxEngine } from "../engine/compiled-engine.js";
import { elementCount } from "../engine/shape.js";
import type { BufferGroup, Engine } from "../engine/types.js";
import { gpt2 } from "../models/gpt2.js";
import { normal } from "../rng/distributions.js";
import { RandomKey } from "../rng/random-key.js";
import { generate } from "./generate.js";
import { Sampler, type ContinueOptions } from "./sampler.js";

const model = gpt2({ vocabSize: 30, sequenceLength: 100, hiddenSize: 8, layers: 1, heads: 2 });

let engine: Engine;
let parameters: BufferGroup;
let sampler: Sampler;

beforeAll(async () => {
  engine = await OnnxEngine.create({ threads: 1 });
  parameters = engine.allocate(model.parameters);
  for (const [name, buffer] of Object.entries(parameters.buffers)) buffer.write(normal(RandomKey.fromSeed(0).fold(name), elementCount(buffer.spec.shape)));
  sampler = new Sampler(engine, model, parameters.buffers);
});
afterAll(() => engine.dispose());

const run = (seed: number, length: number): ContinueOptions => ({
  prompt: Array.from({ length }, (_, i) => (seed * 7 + i) % 30), maxTokens: 40, key: RandomKey.fromSeed(seed), topP: 0.9,
});

async function collect(options: ContinueOptions): Promise<number[]> {
  const drawn: number[] = [];
  for await (const token of sampler.continue(options)) drawn.push(token);
  return drawn;
}

it("draws the same tokens together, alone, and as generate does, in rows of every length", async () => {
  // Rows of 32, 64 and 100 tokens; the last text grows past the model's longest sequence.
  const runs = [1, 30, 31, 62, 90].map((length, seed) => run(seed, length));
  const together = await Promise.all(runs.map(collect));
  for (const [i, options] of runs.entries()) {
    expect(together[i]).toHaveLength(40);
    expect(await collect(options)).toEqual(together[i]);
    expect(await generate({ engine, model, parameters: parameters.buffers, ...options })).toEqual(together[i]);
  }
});

it("serves texts in turns: while one is drawn to its end, another gets as many tokens", async () => {
  let other = 0;
  let finished = false;
  const counting = (async () => {
    for await (const _token of sampler.continue({ ...run(1, 5), maxTokens: 200 })) {
      other += 1;
      if (finished) break;
    }
  })();
  await collect(run(2, 5));
  finished = true;
  const seen = other;
  await counting;
  expect(Math.abs(seen - 40)).toBeLessThanOrEqual(2);
});

it("computes nothing ahead, and stops between tokens on the signal", async () => {
  const controller = new AbortController();
  const tokens = sampler.continue({ ...run(1, 5), signal: controller.signal });
  await tokens.next();
  controller.abort();
  await expect(tokens.next()).rejects.toMatchObject({ code: "LEVANTER_INTERRUPTED", message: "sampling stopped after 1 tokens" });
});

it("lets the token being drawn come when it is released, and no other", async () => {
  const own = new Sampler(engine, model, parameters.buffers);
  const tokens = own.continue(run(3, 5));
  const first = tokens.next();
  await own.release();
  expect((await first).done).toBe(false);
  await expect(tokens.next()).rejects.toMatchObject({ code: "LEVANTER_RELEASED" });
});

it.each([0, 1.1, -1, Number.NaN])("refuses topP %j", async (topP) => {
  await expect(collect({ ...run(0, 1), topP })).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringMatching(/^topP is /) as string });
});
