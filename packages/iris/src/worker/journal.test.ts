import { appendFile, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { chaos } from "../chaos/chaos.js";
import { Journal } from "./journal.js";
import type { Report } from "./protocol.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-journal-"));
});
afterEach(async () => {
  chaos.reset();
  await rm(directory, { recursive: true });
});

const nothing = (): void => undefined;
const add = (journal: Journal, message: string): void => journal.append({ type: "log", source: "stdout", level: "info", message });
const messageOf = (report: Report): string => (report.type === "log" ? report.message : report.type);

/** All behind a number, as a reader that asks again and again gets it. */
async function readAll(journal: Journal, after = 0): Promise<Report[]> {
  const all: Report[] = [];
  for (let batch = await journal.read(after); batch.length > 0; batch = await journal.read(all.at(-1)?.seq ?? after)) all.push(...batch);
  return all;
}

const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("append" as const), count: fc.integer({ min: 1, max: 400 }), length: fc.constantFrom(0, 10, 5_000) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("read" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("acknowledge" as const), share: fc.double({ min: 0, max: 1, noNaN: true }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("refuse" as const), rate: fc.constantFrom(0, 0.5) }) },
);

describe.each([["in memory", false], ["on disk", true]])("a journal %s", (_name, onDisk) => {
  test("whatever is added, read, acknowledged and refused by the disk: behind what was acknowledged every report is there, once and in order; on disk for the next process, too", async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 20 }), fc.boolean(), async (steps, ends) => {
        chaos.reset();
        const own = join(directory, String((run += 1)));
        await mkdir(own);
        const journal = new Journal("a", onDisk ? own : undefined, nothing);
        const model: string[] = [];
        let acknowledged = 0;
        for (const [index, each] of steps.entries()) {
          if (each.kind === "append") {
            for (let count = 0; count < each.count; count += 1) {
              const message = `${String(model.length + 1)} ${"x".repeat(each.length)}`;
              model.push(message);
              add(journal, message);
            }
            // The microtask in which it is written.
            await Promise.resolve();
          } else if (each.kind === "acknowledge") {
            acknowledged = Math.max(acknowledged, Math.floor(each.share * model.length));
            journal.acknowledge(acknowledged);
          } else if (each.kind === "refuse") {
            chaos.inject("log.append", { rate: each.rate, seed: index });
          } else {
            const after = acknowledged + Math.floor(each.share * (model.length - acknowledged));
            expect((await readAll(journal, after)).map(messageOf)).toEqual(model.slice(after));
          }
        }
        chaos.reset();
        if (ends) {
          journal.end({ outcome: { kind: "returned", value: new Uint8Array([1, 2, 3]) }, peakMemoryBytes: 5 });
          model.push("ended");
          // After the end nothing is taken.
          add(journal, "too late");
        }
        journal.close();
        const journals = onDisk ? [journal, Journal.recover("a", own, nothing)] : [journal];
        for (const each of journals) {
          const reports = await readAll(each, acknowledged);
          expect(reports.map(messageOf)).toEqual(model.slice(acknowledged));
          expect(reports.map(({ seq }) => seq)).toEqual(reports.map((_report, index) => acknowledged + index + 1));
          if (ends) expect(reports.at(-1)).toMatchObject({ attemptUid: "a", outcome: { kind: "returned", value: new Uint8Array([1, 2, 3]) }, peakMemoryBytes: 5 });
        }
      }),
      { numRuns: 40 },
    );
  });
});

test("half a line that a killed process has left is cut off, and the end that the next one finds out follows the last whole one", async () => {
  const first = new Journal("a", directory, nothing);
  for (const message of ["one", "two"]) add(first, message);
  first.close();
  const [segment = ""] = await readdir(directory);
  await appendFile(join(directory, segment), '{"seq":3,"time":1,"ty');
  const second = Journal.recover("a", directory, nothing);
  second.end({ outcome: { kind: "stopped" }, peakMemoryBytes: 0 });
  expect((await readAll(second)).map((report) => [report.seq, messageOf(report)])).toEqual([[1, "one"], [2, "two"], [3, "ended"]]);
  expect(Journal.recover("a", directory, nothing).lastSeq).toBe(3);
});

test("files whose reports were acknowledged are removed, and what is held in memory stays small", async () => {
  const journal = new Journal("a", directory, nothing);
  const line = "x".repeat(10_000);
  for (let count = 0; count < 5_000; count += 1) {
    add(journal, line);
    if (count % 50 === 0) await Promise.resolve();
  }
  await Promise.resolve();
  expect((await readdir(directory)).length).toBeGreaterThan(4);
  journal.acknowledge(4_990);
  expect(await readdir(directory)).toHaveLength(1);
  expect(await readAll(journal, 4_990)).toHaveLength(10);
  journal.close();
});
