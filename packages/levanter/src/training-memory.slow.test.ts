import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { storeOf, zipfDocuments } from "../test/token-stores.js";

const CHILD = fileURLToPath(new URL("../test/memory-child.ts", import.meta.url));
const MEGABYTE = 2 ** 20;

interface Held {
  readonly step: number;
  readonly handles: Readonly<Record<string, number>>;
  readonly tensors: number;
  readonly rss: number;
}

let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-memory-"));
  await storeOf(join(root, "tokens"), zipfDocuments(1, 2000, 512), 512);
  await storeOf(join(root, "validation"), zipfDocuments(2, 150, 512), 512);
});
afterAll(() => rm(root, { recursive: true }));

it("no leaks: 300 steps with validations, averages, checkpoints and trackers hold no more tensors and memory than the first", async () => {
  const args = ["--expose-gc", "--conditions=@marin/source", "--import", "tsx", CHILD, join(root, "run"), join(root, "tokens"), join(root, "validation")];
  const { stdout } = await promisify(execFile)(process.execPath, args);
  const held = stdout.trimEnd().split("\n").map((line) => JSON.parse(line) as Held);
  expect(held).toHaveLength(300);
  // The first validation, after step 5, brings its own program and buffers, which stay to the end.
  const counts = held.slice(5).map(({ handles, tensors }) => ({ handles, tensors }));
  for (const count of counts) expect(count).toEqual(counts[0]);
  const [from, to] = [held[99]?.rss ?? 0, held[299]?.rss ?? Infinity];
  console.log(`handles ${JSON.stringify(counts[0]?.handles)}, resident memory ${(from / MEGABYTE).toFixed(0)} to ${(to / MEGABYTE).toFixed(0)} MiB from step 100 to 300`);
  expect(to - from).toBeLessThan(20 * MEGABYTE);
});
