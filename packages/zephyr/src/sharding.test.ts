import { createLogger, provide, shardingExtension, type ShardingProvider, withLocalContext } from "@marin/iris";
import fc from "fast-check";
import { expect, test } from "vitest";
import { itemsOfTask, taskShare } from "./sharding.js";

const items = Array.from({ length: 23 }, (_, index) => `item-${String(index)}`);

const slices = (sliceCount: number): ShardingProvider => ({
  name: `${String(sliceCount)} slices`,
  topology: async (taskIndex, numTasks) => ({ sliceId: Math.floor(taskIndex / (numTasks / sliceCount)), sliceCount, tasksPerSlice: numTasks / sliceCount }),
});

async function shares(numTasks: number, provider?: ShardingProvider): Promise<{ items: string[][]; lines: string[] }> {
  const lines: string[] = [];
  const log = createLogger({ write: (line) => void lines.push(line) });
  const extensions = provider === undefined ? [] : [provide(shardingExtension, provider)];
  const all = await Promise.all(
    Array.from({ length: numTasks }, (_, taskIndex) => withLocalContext({ taskIndex, numTasks, log, extensions }, async () => itemsOfTask(items, await taskShare()))),
  );
  return { items: all, lines };
}

test("without a provider all tasks are one slice, and the log says so", async () => {
  const { items: dealt, lines } = await shares(3);
  expect(dealt[0]).toEqual(items.filter((_, index) => index % 3 === 0));
  expect(dealt.flat().sort()).toEqual([...items].sort());
  expect(lines[0]).toContain('provider="one slice"');
});

test("with a provider items go to the slices in turn, and the log names it", async () => {
  const { items: dealt, lines } = await shares(4, slices(2));
  const ofSlice = [dealt.slice(0, 2).flat(), dealt.slice(2).flat()];
  expect(ofSlice[0]?.sort()).toEqual(items.filter((_, index) => index % 2 === 0).sort());
  expect(ofSlice[1]?.sort()).toEqual(items.filter((_, index) => index % 2 === 1).sort());
  expect(lines).toHaveLength(4);
  expect(lines[3]).toMatch(/provider="2 slices" slice="1 of 2" tasksPerSlice=2/);
});

test("every item belongs to exactly one task, in order, and shares of a slice differ by at most one", () =>
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5 }), fc.integer({ min: 1, max: 5 }), fc.nat(40), (sliceCount, tasksPerSlice, count) => {
      const numbers = Array.from({ length: count }, (_, index) => index);
      const all: number[] = [];
      for (let sliceId = 0; sliceId < sliceCount; sliceId += 1) {
        const ofSlice = Array.from({ length: tasksPerSlice }, (_, indexInSlice) => itemsOfTask(numbers, { provider: "", sliceId, sliceCount, indexInSlice, tasksPerSlice }));
        const lengths = ofSlice.map(({ length }) => length);
        expect(Math.max(...lengths) - Math.min(...lengths)).toBeLessThanOrEqual(1);
        for (const own of ofSlice) expect(own).toEqual([...own].sort((a, b) => a - b));
        all.push(...ofSlice.flat());
      }
      expect(all.sort((a, b) => a - b)).toEqual(numbers);
    }),
  ));

test.each([
  { sliceId: 0, sliceCount: 2, tasksPerSlice: 1 },
  { sliceId: 2, sliceCount: 2, tasksPerSlice: 2 },
  { sliceId: 1, sliceCount: 2, tasksPerSlice: 2 },
  { sliceId: 0, sliceCount: 1.5, tasksPerSlice: 2 },
])("slices %j that do not make up a job of 4 tasks are refused", async (topology) => {
  const provider = { name: "wrong", topology: async () => topology };
  await expect(shares(4, provider)).rejects.toMatchObject({ code: "ZEPHYR_BAD_TOPOLOGY", message: expect.stringContaining('"wrong"') as string });
});

test("outside a task there is no share", async () => {
  await expect(taskShare()).rejects.toMatchObject({ code: "IRIS_NO_CONTEXT" });
});
