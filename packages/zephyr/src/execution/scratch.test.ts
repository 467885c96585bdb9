import { access, mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createStorage, type StorageEntry } from "@marin/iris";
import { afterAll, expect, test } from "vitest";
import { Scratch } from "./scratch.js";
import type { ShardOutcome } from "./shard-task.js";

const directory = await mkdtemp(join(tmpdir(), "zephyr-scratch-"));
afterAll(() => rm(directory, { recursive: true, force: true }));
const storage = createStorage();
const plan = { fingerprint: async () => "f", text: () => "stage 0\n" };

async function attempt(scratch: Scratch, shard: number): Promise<ShardOutcome> {
  const { attempt: name, prefix } = scratch.attempt(0, shard);
  const path = `${prefix}records`;
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, name);
  return { stage: 0, shard, attempt: name, output: { kind: "records", file: { path, records: 1, bytes: name.length } }, counters: {} };
}

test("of attempts at a shard the first that is finished counts; a stale one is not looked at, and its files go", async () => {
  const path = join(directory, "a");
  await using scratch = await Scratch.open(path, storage, plan);
  const slow = await attempt(scratch, 0);
  const quick = await attempt(scratch, 0);
  expect(await scratch.publish(quick)).toEqual(quick);
  expect(await scratch.publish(slow)).toEqual(quick);
  const interrupted = await attempt(scratch, 1);
  expect(await scratch.finished(0)).toEqual(new Map([[0, quick]]));
  await scratch.removeStrays(0, [quick]);
  const filesOf = (outcome: ShardOutcome): string => (outcome.output.kind === "records" ? outcome.output.file.path : "");
  await access(filesOf(quick));
  await expect(access(filesOf(slow))).rejects.toThrow("ENOENT");
  await expect(access(filesOf(interrupted))).rejects.toThrow("ENOENT");
});

test("a directory is one execution's at a time; another plan is refused, and what differs is told", async () => {
  const path = join(directory, "b");
  {
    await using scratch = await Scratch.open(path, storage, plan);
    expect(scratch.kept).toBe(true);
    await expect(Scratch.open(path, storage, plan)).rejects.toMatchObject({ code: "RIGGING_LOCKED" });
  }
  await expect(Scratch.open(path, storage, { fingerprint: async () => "g", text: () => "stage 0: 2 shards\n" })).rejects.toMatchObject({
    code: "ZEPHYR_PLAN_CHANGED",
    message: expect.stringContaining('it said "stage 0" where this one says "stage 0: 2 shards"') as string,
  });
  // The refusal gives the directory back.
  await (await Scratch.open(path, storage, plan))[Symbol.asyncDispose]();
});

test("it may lie on any storage, and a temporary one is gone afterwards", async () => {
  const scratch = await Scratch.open("memory://scratch-test/a", storage, plan);
  const { attempt: name, prefix } = scratch.attempt(0, 3);
  await storage.write(`${prefix}records`, "x");
  const outcome: ShardOutcome = { stage: 0, shard: 3, attempt: name, output: { kind: "records", file: { path: `${prefix}records`, records: 0, bytes: 1 } }, counters: {} };
  await scratch.publish(outcome);
  expect(await scratch.finished(0)).toEqual(new Map([[3, outcome]]));
  await scratch.retract(0, 3);
  expect((await scratch.finished(0)).size).toBe(0);
  await scratch.removeStage(0);
  const left: StorageEntry[] = [];
  for await (const entry of storage.list("memory://scratch-test/")) left.push(entry);
  expect(left.map(({ path }) => path)).toEqual(["memory://scratch-test/a/plan.json"]);
  await scratch[Symbol.asyncDispose]();
  const temporary = await Scratch.temporary(storage);
  const place = temporary.attempt(0, 0).prefix;
  await storage.write(`${place}x`, "x");
  await temporary[Symbol.asyncDispose]();
  await expect(readdir(dirname(dirname(place)))).rejects.toThrow("ENOENT");
});
