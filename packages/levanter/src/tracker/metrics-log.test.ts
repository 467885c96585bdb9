import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { withFault } from "../../test/faulty-files.js";
import { MetricsLog } from "./metrics-log.js";

let root: string;
let path: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-metrics-"));
});
afterAll(() => rm(root, { recursive: true }));

async function fresh(text?: string): Promise<void> {
  path = join(root, `${String(next++)}.jsonl`);
  if (text !== undefined) await writeFile(path, text);
}

it("appends a line a step", async () => {
  await fresh();
  const log = await MetricsLog.open(path, 0);
  await log.append({ step: 1, loss: 2.5 });
  await log.append({ step: 2, loss: 2 });
  await log.close();
  expect(await readFile(path, "utf8")).toBe('{"step":1,"loss":2.5}\n{"step":2,"loss":2}\n');
});

it("forgets steps after the one a run goes on from, and a line cut short", async () => {
  await fresh('{"step":1}\n{"step":2,"loss":3}\n{"step":3}\n{"step":4,"lo');
  const log = await MetricsLog.open(path, 2);
  expect(log.last).toEqual({ step: 2, loss: 3 });
  await log.append({ step: 3, loss: 1 });
  await log.close();
  expect(await readFile(path, "utf8")).toBe('{"step":1}\n{"step":2,"loss":3}\n{"step":3,"loss":1}\n');
});

it("starts anew for a new run", async () => {
  await fresh('{"step":1}\n');
  const log = await MetricsLog.open(path, 0);
  expect(log.last).toBeUndefined();
  await log.close();
  expect(await readFile(path, "utf8")).toBe("");
});

it("amends the last line, or appends one", async () => {
  await fresh('{"step":1}\n{"step":2}\n');
  const log = await MetricsLog.open(path, 2);
  await log.amend({ step: 2, more: true });
  await log.amend({ step: 3 });
  await log.amend({ step: 3, more: true });
  await log.append({ step: 4 });
  await log.close();
  expect(await readFile(path, "utf8")).toBe('{"step":1}\n{"step":2,"more":true}\n{"step":3,"more":true}\n{"step":4}\n');
});

it("says when the disk is full", async () => {
  await fresh();
  const log = await MetricsLog.open(path, 0);
  const { error } = await withFault({ after: 0, mode: "once" }, () => log.append({ step: 1 }));
  expect(error).toMatchObject({ code: "RIGGING_DISK_FULL", data: { path } });
  await log.close();
});

it("says that it is gone when it is to be amended", async () => {
  await fresh();
  const log = await MetricsLog.open(path, 0);
  await log.append({ step: 1 });
  await rm(path);
  await expect(log.amend({ step: 1, more: true })).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", data: { path } });
  await log.close();
});
