import { getIrisCtx as irisGetIrisCtx, withLocalContext } from "@marin/iris";
import { expect, test } from "vitest";
import { addCounters, counted, getIrisCtx, zephyrContext } from "./context.js";

test("getIrisCtx is iris's own", () => {
  expect(getIrisCtx).toBe(irisGetIrisCtx);
  expect(zephyrContext().task).toBeUndefined();
  withLocalContext({ jobId: "a" }, () => expect(zephyrContext().task?.jobId).toBe("a"));
});

test("each item, each task and the process have counts of their own", async () => {
  zephyrContext().count("outside");
  await withLocalContext({}, async () => {
    zephyrContext().count("b", 2);
    zephyrContext().count("a");
    const items = await Promise.all(
      [1, 2].map((amount) =>
        counted(async () => {
          zephyrContext().count("read", amount);
          await Promise.resolve();
          zephyrContext().count("read", amount);
          return amount;
        }),
      ),
    );
    expect(items).toEqual([
      { value: 1, counters: { read: { sum: 2, min: 1, max: 1, updates: 2 } } },
      { value: 2, counters: { read: { sum: 4, min: 2, max: 2, updates: 2 } } },
    ]);
    expect(Object.entries(zephyrContext().counters())).toEqual([
      ["a", { sum: 1, min: 1, max: 1, updates: 1 }],
      ["b", { sum: 2, min: 2, max: 2, updates: 1 }],
    ]);
  });
  expect(zephyrContext().counters()).toEqual({ outside: { sum: 1, min: 1, max: 1, updates: 1 } });
  const one = { sum: 1, min: 1, max: 1, updates: 1 };
  expect(Object.entries(addCounters({ b: one }, { a: one, b: { sum: 5, min: -1, max: 6, updates: 2 } }))).toEqual([
    ["a", one],
    ["b", { sum: 6, min: -1, max: 6, updates: 3 }],
  ]);
});
