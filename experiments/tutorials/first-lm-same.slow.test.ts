import { cp, mkdtemp, rename, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { tiny, writeCorpus } from "../test/corpus.js";
import { digestsOf, firstLm, ran } from "../test/run-command.js";

const workers = (count: number): string[] => ["documents.workers", "dedup.workers", "train.threads"].flatMap((option) => ["--set", `${option}=${count}`]);

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-same-"));
  await writeCorpus(join(directory, "one", "texts"), 60);
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

it("comes to the same contents in another place, with one worker and two, and where a store was moved", { timeout: 400_000 }, async () => {
  const one = join(directory, "one");
  const other = join(directory, "other place");
  await cp(one, other, { recursive: true });
  const first = await firstLm(one, [...tiny, ...workers(1), "--max-concurrent", "1"]);
  const second = await firstLm(other, [...tiny, ...workers(2), "--prefix", "artifacts"]);
  expect([first.code, second.code]).toEqual([0, 0]);
  expect(Object.keys(digestsOf(first)).length).toBeGreaterThan(7);
  expect(digestsOf(second)).toEqual(digestsOf(first));

  await rename(join(other, "artifacts"), join(one, "moved"));
  const moved = await firstLm(one, [...tiny, "--prefix", "moved"]);
  expect(ran(moved)).toEqual([]);
  expect(digestsOf(moved)).toEqual(digestsOf(first));
});
