import fc from "fast-check";
import { irisCtx, provide, shardingExtension, withLocalContext } from "@marin/iris";
import { expect, test } from "vitest";
import { configureMegascaleFromIris } from "./megascale.js";

test("slices divide a job's tasks, in order, into equal parts", async () => {
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 12 }), async (slices, perSlice) => {
      const numTasks = slices * perSlice;
      const provider = configureMegascaleFromIris({ taskIndex: 0, numTasks }, { MEGASCALE_NUM_SLICES: String(slices) });
      const found = await Promise.all(Array.from({ length: numTasks }, (_, task) => provider.topology(task, numTasks)));
      const expected = Array.from({ length: slices }, (_, sliceId) => Array.from({ length: perSlice }, () => ({ sliceId, sliceCount: slices, tasksPerSlice: perSlice }))).flat();
      expect(found).toEqual(expected);
    }),
  );
});

test("without the variable there is one slice", async () => {
  const provider = configureMegascaleFromIris({ taskIndex: 2, numTasks: 3 }, {});
  expect(provider.name).toBe("megascale (1 slice)");
  expect(await provider.topology(2, 3)).toEqual({ sliceId: 0, sliceCount: 1, tasksPerSlice: 3 });
});

test("whoever asks the context finds what was provided", async () => {
  const environment = { MEGASCALE_NUM_SLICES: "2", MEGASCALE_SLICE_ID: "1" };
  const topology = await withLocalContext({ taskIndex: 3, numTasks: 4 }, () =>
    withLocalContext({ taskIndex: 3, numTasks: 4, extensions: [provide(shardingExtension, configureMegascaleFromIris(irisCtx(), environment))] }, () =>
      irisCtx().extension(shardingExtension)?.topology(3, 4),
    ),
  );
  expect(topology).toEqual({ sliceId: 1, sliceCount: 2, tasksPerSlice: 2 });
});

test.each([
  [{ taskIndex: 0, numTasks: 3 }, { MEGASCALE_NUM_SLICES: "2" }, "3 tasks don't divide into 2 slices"],
  [{ taskIndex: 0, numTasks: 4 }, { MEGASCALE_NUM_SLICES: "two" }, 'MEGASCALE_NUM_SLICES is "two"; it must be a whole number from 1'],
  [{ taskIndex: 0, numTasks: 4 }, { MEGASCALE_NUM_SLICES: "0" }, "from 1"],
  [{ taskIndex: 0, numTasks: 4 }, { MEGASCALE_NUM_SLICES: "-1" }, "from 1"],
  [{ taskIndex: 3, numTasks: 4 }, { MEGASCALE_NUM_SLICES: "2", MEGASCALE_SLICE_ID: "0" }, "belongs to slice 1"],
  [{ taskIndex: 0, numTasks: 4 }, { MEGASCALE_SLICE_ID: "" }, 'MEGASCALE_SLICE_ID is ""; it must be a whole number from 0'],
])("%j with %j is refused", (task, environment, message) => {
  expect(() => configureMegascaleFromIris(task, environment)).toThrow(expect.objectContaining({ code: "LEVANTER_MEGASCALE", message: expect.stringContaining(message) as string }));
});

test("so is a number of tasks that the slices don't divide, when it is asked for", async () => {
  const provider = configureMegascaleFromIris({ taskIndex: 0, numTasks: 4 }, { MEGASCALE_NUM_SLICES: "2" });
  await expect(provider.topology(0, 5)).rejects.toMatchObject({ code: "LEVANTER_MEGASCALE" });
  await expect(provider.topology(4, 4)).rejects.toMatchObject({ code: "LEVANTER_MEGASCALE" });
});
