import { expect, test } from "vitest";
import { Dataset } from "../dataset.js";
import { execute } from "./execute.js";

function* endless(): Generator<number> {
  for (let number = 0; ; number += 1) yield number;
}

async function* endlessAsync(): AsyncGenerator<number> {
  yield* endless();
}

const seeds = Dataset.fromArray([0]);

test.each([
  ["flatMap", () => seeds.flatMap(endless)],
  ["flatMap of an asynchronous generator", () => seeds.flatMap(endlessAsync)],
  ["mapShard", () => seeds.mapShard(endless)],
  ["mapShard of an asynchronous generator, filtered", () => seeds.mapShard(endlessAsync).filter(() => false)],
  ["an iterable, filtered", () => Dataset.fromAsyncIterable(endless()).filter(() => false)],
  ["an iterable, mapped", () => Dataset.fromAsyncIterable(endless()).map((number) => number)],
] as const)("work that never waits is stopped by a timer's abort: %s", async (_name, dataset) => {
  const controller = new AbortController();
  setTimeout(() => {
    controller.abort(new Error("enough"));
  }, 1);
  await expect(execute(dataset().count(), { signal: controller.signal })).rejects.toThrow("enough");
});
