import fc from "fast-check";
import { appendFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type { LogLine } from "./job-status.js";
import { type LineEntry, LineLog, type LineQuery } from "./line-log.js";

const levels = ["debug", "info", "warn", "error"] as const;
const line = (message: string, level: LogLine["level"] = "info", taskIndex = 0): LogLine => ({ time: "2026-01-01T00:00:00.000Z", level, source: "log", taskIndex, attempt: 0, message });
const own = (message: string): LineEntry => ({ line: line(message), attemptUid: "", seq: 0 });
const messages = async (log: LineLog, query: LineQuery = {}): Promise<string[]> => (await collect(log.read(query))).flatMap(({ lines }) => lines.map(({ message }) => message));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-log-"));
});
afterEach(() => rm(directory, { recursive: true }));

const places = [
  ["in memory", () => ({})],
  ["in a file", () => ({ path: join(directory, "job.jsonl") })],
  ["in a directory", () => ({ directory })],
] as const;

describe.each(places)("a log %s", (_name, place) => {
  test("whoever follows sees every line once and in order, from the beginning or from where it left off; lines that come again are dropped", async () => {
    const log = new LineLog(place());
    const early = messages(log, { follow: true });
    let left = 0;
    for (let seq = 1; seq <= 3000; ) {
      // As a worker does after its connection broke: it begins again behind what was acknowledged.
      const batch = Array.from({ length: 1 + (seq % 97) }, (_, place) => seq + place).filter((each) => each <= 3000);
      const again = Array.from({ length: Math.min(seq - 1, 5) }, (_, place) => seq - 5 + place).filter((each) => each > 0);
      log.append([...again, ...batch].map((each) => ({ line: line(String(each)), attemptUid: "a", seq: each })));
      seq += batch.length;
      if (seq % 10 === 0) left = log.count;
    }
    const all = Array.from({ length: 3000 }, (_, place) => String(place + 1));
    const late = messages(log, { follow: true, from: left });
    log.end();
    expect(await early).toEqual(all);
    expect(await late).toEqual(all.slice(left));
    expect(log.lastSeq("a")).toBe(3000);
    expect(log.lastSeq("b")).toBe(0);
  });

  test("from, tail, level and task choose as they would from an array", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ level: fc.constantFrom(...levels), taskIndex: fc.nat(2) }), { maxLength: 700 }),
        fc.record({ from: fc.option(fc.nat(800), { nil: undefined }), tail: fc.option(fc.nat(400), { nil: undefined }), minLevel: fc.option(fc.constantFrom(...levels), { nil: undefined }), taskIndex: fc.option(fc.nat(2), { nil: undefined }) }),
        async (lines, query) => {
          const log = new LineLog(place());
          const before = log.count;
          const all = lines.map(({ level, taskIndex }, index) => line(`line ${String(index)}`, level, taskIndex));
          log.append(all.map((each) => ({ line: each, attemptUid: "", seq: 0 })));
          const { from, tail, minLevel = "debug", taskIndex } = query;
          const wanted = all.slice(from ?? 0).filter((each) => levels.indexOf(each.level) >= levels.indexOf(minLevel) && (taskIndex === undefined || each.taskIndex === taskIndex));
          const expected = (tail === undefined ? wanted : tail === 0 ? [] : wanted.slice(-tail)).map(({ message }) => message);
          const batches = await collect(log.read({ ...query, from: before + (from ?? 0) }));
          log.end();
          expect(batches.flatMap((batch) => batch.lines.map(({ message }) => message))).toEqual(expected);
          expect(batches.at(-1)?.next ?? log.count).toBe(log.count);
        },
      ),
      { numRuns: 30 },
    );
  });

  test("a signal ends the waiting with its reason", async () => {
    const controller = new AbortController();
    const log = new LineLog(place());
    const following = messages(log, { follow: true, signal: controller.signal });
    controller.abort(new Error("enough"));
    await expect(following).rejects.toThrow("enough");
    log.end();
  });
});

test("in memory the latest are held, and a reader that comes too late is told how many it misses", async () => {
  const log = new LineLog();
  for (let count = 0; count < 250; count += 1) log.append(Array.from({ length: 100 }, (_, place) => own(String(count * 100 + place))));
  const read = await messages(log);
  const missed = Number(/^(\d+) earlier lines/.exec(read[0] ?? "")?.[1]);
  expect(read.slice(1)).toEqual(Array.from({ length: 25_000 - missed }, (_, place) => String(missed + place)));
  expect(read.length).toBeGreaterThan(15_000);
});

test("a file is continued by the next process: numbers, attempts and lines are those of before; half a line is cut off", async () => {
  const path = join(directory, "job.jsonl");
  const first = new LineLog({ path });
  await expect(readFile(path)).rejects.toThrow("ENOENT");
  first.append(Array.from({ length: 1000 }, (_, place) => ({ line: line(`é ${String(place)}`), attemptUid: "a", seq: place + 1 })));
  // Killed here: not ended, and in the middle of a line.
  await appendFile(path, '{"time":"2026-01-01T00:00:00.000Z","lev');
  const second = new LineLog({ path });
  expect([second.count, second.lastSeq("a")]).toEqual([1000, 1000]);
  second.append([{ line: line("again"), attemptUid: "a", seq: 1000 }, { line: line("é 1000"), attemptUid: "a", seq: 1001 }]);
  expect(await messages(second, { from: 500 })).toEqual(Array.from({ length: 501 }, (_, place) => `é ${String(place + 500)}`));
  second.end();
  expect((await readFile(path, "utf8")).trimEnd().split("\n").map((text) => (JSON.parse(text) as LogLine).message)).toHaveLength(1001);
});

test("a directory that holds the log of an earlier job keeps it", async () => {
  for (const name of ["log.jsonl", "log.2.jsonl"]) {
    const log = new LineLog({ directory });
    log.append([own(name)]);
    log.end();
    expect(await readFile(join(directory, name), "utf8")).toContain(name);
  }
});

test("where the disk refuses, the log says so and goes on in memory", async () => {
  const path = join(directory, "job.jsonl");
  const log = new LineLog({ path: join(path, "..", "gone", "job.jsonl") });
  await rm(join(directory, "gone"), { recursive: true });
  log.append([own("one")]);
  log.append([own("two")]);
  log.end();
  const [note, ...rest] = await messages(log);
  expect(note).toMatch(/no longer written to disk: ENOENT/);
  expect(rest).toEqual(["one", "two"]);
});
