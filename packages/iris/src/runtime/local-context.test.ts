import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { add } from "../../test/fixtures/tasks.js";
import { createLogger, createStorage, entry } from "../platform.js";
import { irisCtx } from "./context.js";
import { type Endpoint, EndpointTable, localRegistry } from "./endpoints.js";
import { withLocalContext } from "./local-context.js";

describe("what a local context can reach", () => {
  test("ports that were given to it; others are told with the names there are", () => {
    withLocalContext({ jobId: "/serve", ports: { http: 20_080, metrics: 20_081 } }, () => {
      expect(irisCtx().port("http")).toBe(20_080);
      expect(() => irisCtx().port("https")).toThrow(expect.objectContaining({ code: "IRIS_NO_PORT", message: 'The job /serve has no port "https": it asked for http, metrics. Name it in the job\'s ports.' }));
      expect(withLocalContext({}, () => irisCtx().port("metrics"))).toBe(20_081);
    });
    expect(() => withLocalContext({}, () => irisCtx().port("toString"))).toThrow(expect.objectContaining({ code: "IRIS_NO_PORT" }));
  });

  test("storage and secrets, its own or the surrounding one's", async () => {
    const storage = createStorage();
    await withLocalContext({ storage }, async () => {
      await irisCtx().storage.write("memory://greeting", "hello");
      expect(Buffer.from(await withLocalContext({}, () => irisCtx().storage.read("memory://greeting"))).toString()).toBe("hello");
      await expect(irisCtx().secrets.get("no_such_secret")).rejects.toMatchObject({ code: "RIGGING_SECRET_MISSING" });
    });
  });

  test("a registry that it shares with the contexts inside it", async () => {
    await withLocalContext({}, async () => {
      const endpoint = await irisCtx().registry.register("a", "127.0.0.1:1");
      expect(await withLocalContext({}, () => irisCtx().registry.resolve("a"))).toBe("127.0.0.1:1");
      await endpoint.close();
      expect(await irisCtx().registry.resolve("a")).toBeUndefined();
      expect(await withLocalContext({ registry: localRegistry("b") }, () => irisCtx().registry.resolve("a"))).toBeUndefined();
    });
  });

  test("a client that runs jobs on this machine, one for a context and those inside it, closed at its end", async () => {
    const job = await withLocalContext({}, async () => {
      const { client } = irisCtx();
      expect(withLocalContext({}, () => irisCtx().client)).toBe(client);
      return client.submit({ name: "left-alone", entry: entry<typeof add>(new URL("../../test/fixtures/tasks.ts", import.meta.url), "add"), args: [1, 2] });
    });
    expect((await job.status()).state).toBe("KILLED");
  });
});

describe("clean-up", () => {
  test("runs after the function, last asked first, inside the context; one that fails is logged and stops no other", async () => {
    const order: string[] = [];
    const lines: string[] = [];
    const value = await withLocalContext({ jobId: "/clean", log: createLogger({ write: (line) => void lines.push(line) }) }, async () => {
      const { onExit } = irisCtx();
      onExit(() => void order.push(`first ${irisCtx().jobId}`));
      onExit(() => Promise.reject(new Error("cannot clean")));
      onExit(async () => {
        await immediate();
        order.push("last");
      });
      order.push("work");
      return 7;
    });
    expect(value).toBe(7);
    expect(order).toEqual(["work", "last", "first /clean"]);
    expect(lines.join("")).toContain("cannot clean");
  });

  test("runs when the function throws, and that is what is thrown", async () => {
    const ran: string[] = [];
    const fail = (how: "sync" | "async") => (): Promise<never> => {
      irisCtx().onExit(() => void ran.push(how));
      if (how === "sync") throw new Error("sync");
      return Promise.reject(new Error("async"));
    };
    expect(() => withLocalContext({}, fail("sync"))).toThrow("sync");
    await expect(withLocalContext({}, fail("async"))).rejects.toThrow("async");
    expect(ran).toEqual(["sync", "async"]);
  });
});

describe("endpoints", () => {
  const offer = (table: EndpointTable, attempt: string, name: string, address: string): Endpoint => table.add({ id: `${attempt} ${name} ${address}`, name, address, metadata: {}, attempt, owner: `the job /${attempt}` }).offered;

  test("a name that is taken is told with its holder; names and addresses must be some", () => {
    const table = new EndpointTable();
    const first = offer(table, "a", "serve", "127.0.0.1:1");
    expect(() => offer(table, "b", "serve", "127.0.0.1:2")).toThrow(expect.objectContaining({ code: "IRIS_ENDPOINT_TAKEN", message: 'the job /b cannot offer "serve": the job /a offers it already, at 127.0.0.1:1.' }));
    expect(() => offer(table, "b", "two words", "127.0.0.1:2")).toThrow(expect.objectContaining({ code: "IRIS_BAD_ENDPOINT" }));
    expect(() => offer(table, "b", "empty", "")).toThrow(expect.objectContaining({ code: "IRIS_BAD_ENDPOINT" }));
    expect(offer(table, "a", "serve", "127.0.0.1:1")).toBe(first);
  });

  test("the end of an attempt takes out its endpoints, and no other's of the same name", () => {
    const table = new EndpointTable();
    const stale = offer(table, "0", "serve", "127.0.0.1:1");
    expect(table.removeAll("0")).toEqual([stale]);
    offer(table, "1", "serve", "127.0.0.1:2");
    expect(table.remove(stale.id, "0")).toBeUndefined();
    expect(table.resolve("serve")).toBe("127.0.0.1:2");
  });

  test("one whose lease ran out is not seen, unless it is renewed before another takes its name", () => {
    let now = 0;
    const table = new EndpointTable(100, () => now);
    const { id } = offer(table, "0", "serve", "127.0.0.1:1");
    now = 100;
    expect(table.resolve("serve")).toBeUndefined();
    table.renew(id, "0");
    expect(table.resolve("serve")).toBe("127.0.0.1:1");
    expect(() => table.renew(id, "1")).toThrow(expect.objectContaining({ code: "IRIS_BAD_ENDPOINT" }));
    now = 200;
    offer(table, "1", "serve", "127.0.0.1:2");
    expect(() => table.renew(id, "0")).toThrow(expect.objectContaining({ code: "IRIS_BAD_ENDPOINT" }));
    now = 250;
    table.renewAll("1");
    now = 349;
    expect(table.resolve("serve")).toBe("127.0.0.1:2");
  });
});
