import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import { History } from "./history.js";
import { JobLog } from "./job-log.js";
import type { LogLine } from "./job-status.js";

const line = (message: string, level: LogLine["level"] = "info"): LogLine => ({ time: "2026-01-01T00:00:00.000Z", level, source: "log", taskIndex: 0, attempt: 0, message });

describe("history", () => {
  test("readers begin with the first event, each at its own pace, and end with the last", async () => {
    const history = new History<number>();
    history.push(0, 1);
    const early = collect(history.read());
    for (let event = 1; event < 1000; event += 1) {
      history.push(event, 1);
      if (event % 100 === 0) await Promise.resolve();
    }
    const late = collect(history.read());
    history.end();
    const all = Array.from({ length: 1000 }, (_, event) => event);
    for (const items of [await early, await late]) expect(items.flatMap((item) => (item.kind === "event" ? [item.event] : []))).toEqual(all);
  });

  test.each([
    ["number", new History<number>(100, Infinity), 1],
    ["size", new History<number>(Infinity, 1000), 10],
  ])("beyond a %s the oldest are dropped, and a reader that misses some is told how many", async (_what, history, bytes) => {
    const reader = history.read();
    history.push(0, bytes);
    expect((await reader.next()).value).toEqual({ kind: "event", event: 0 });
    for (let event = 1; event < 250; event += 1) history.push(event, bytes);
    history.end();
    let next = 1;
    for await (const item of reader) {
      if (item.kind === "missed") next += item.count;
      if (item.kind === "event") expect(item.event).toBe(next++);
    }
    expect(next).toBe(250);
    const held = (await collect(history.read())).filter(({ kind }) => kind === "event");
    expect(held.length).toBeGreaterThanOrEqual(70);
    expect(held.length).toBeLessThanOrEqual(100);
  });

  test("a reader's signal ends its waiting", async () => {
    const controller = new AbortController();
    const reading = collect(new History<number>().read(controller.signal));
    controller.abort(new Error("enough"));
    await expect(reading).rejects.toThrow("enough");
  });
});

describe("log", () => {
  let directory: string;
  beforeEach(async () => {
    directory = await mkdtemp(join(tmpdir(), "iris-log-"));
  });
  afterEach(() => rm(directory, { recursive: true }));

  test.each(["memory", "disk"])("reads what is there, its tail, by level, and follows: %s", async (where) => {
    const log = new JobLog(where === "disk" ? join(directory, "job") : undefined);
    const messages = async (options?: Parameters<JobLog["lines"]>[0]): Promise<string[]> => (await collect(log.lines(options))).map(({ message }) => message);
    const following = messages({ follow: true, tail: 2 });
    const fromTheStart = messages({ follow: true });
    for (const each of [line("one"), line("ünwritable\n\u2028", "error"), line("three", "debug")]) log.push({ type: "log", line: each });
    expect(await messages()).toEqual(["one", "ünwritable\n\u2028", "three"]);
    expect(await messages({ tail: 2 })).toEqual(["ünwritable\n\u2028", "three"]);
    expect(await messages({ tail: 0 })).toEqual([]);
    expect(await messages({ minLevel: "info", tail: 1 })).toEqual(["ünwritable\n\u2028"]);
    const tailed = messages({ follow: true, tail: 1 });
    await Promise.resolve();
    log.push({ type: "log", line: line("four") });
    log.end();
    expect(await fromTheStart).toEqual(["one", "ünwritable\n\u2028", "three", "four"]);
    expect((await tailed).at(-1)).toBe("four");
    expect((await following).at(-1)).toBe("four");
  });

  test("memory is bounded and says so; the disk has every line", async () => {
    const inMemory = new JobLog();
    const onDisk = new JobLog(directory);
    const count = 30_000;
    for (let index = 0; index < count; index += 1) {
      for (const log of [inMemory, onDisk]) log.push({ type: "log", line: line(`${index}`) });
    }
    for (const log of [inMemory, onDisk]) log.end();
    const kept = await collect(inMemory.lines());
    expect(kept[0]).toMatchObject({ source: "iris", level: "warn" });
    expect(kept[0]?.message).toBe(`${count - (kept.length - 1)} earlier events are no longer held in memory; give the client a directory to keep whole logs`);
    expect(kept.at(-1)?.message).toBe(`${count - 1}`);
    expect((await collect(onDisk.lines())).map(({ message }) => message)).toEqual(Array.from({ length: count }, (_, index) => `${index}`));
  });

  test("an earlier client's log in the same directory is kept", async () => {
    for (const message of ["first", "second"]) {
      const log = new JobLog(directory);
      log.push({ type: "log", line: line(message) });
      log.end();
      expect((await collect(log.lines())).map((each) => each.message)).toEqual([message]);
    }
    expect((await readdir(directory)).sort()).toEqual(["log.2.jsonl", "log.jsonl"]);
  });
});
