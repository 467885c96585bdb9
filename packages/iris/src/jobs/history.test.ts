import { describe, expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import { History } from "./history.js";

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
