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
      { value: 1, counters: { read: 2 } },
      { value: 2, counters: { read: 4 } },
    ]);
    expect(Object.entries(zephyrContext().counters())).toEqual([
      ["a", 1],
      ["b", 2],
    ]);
  });
  expect(zephyrContext().counters()).toEqual({ outside: 1 });
  expect(Object.entries(addCounters({ b: 1 }, { a: 2, b: 3 }))).toEqual([
    ["a", 2],
    ["b", 4],
  ]);
});
