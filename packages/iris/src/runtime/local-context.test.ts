import { setImmediate as immediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import type { add } from "../../test/fixtures/tasks.js";
import { createLogger, createStorage, entry } from "../platform.js";
import { irisCtx } from "./context.js";
import { EndpointTable } from "./endpoints.js";
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
      expect(await withLocalContext({ registry: new EndpointTable().registryOf("b").registry }, () => irisCtx().registry.resolve("a"))).toBeUndefined();
    });
  });

  test("a client that runs jobs on this machine, one for a context and those inside it, closed at its end", async () => {
    const job = await withLocalContext({}, async () => {
      const { client } = irisCtx();
      expect(withLocalContext({}, () => irisCtx().client)).toBe(client);
      return client.submit({ name: "left-alone", entry: entry<typeof add>(new URL("../../test/fixtures/tasks.ts", import.meta.url), "add"), args: [1, 2] });
    });
    expect(job.state().state).toBe("KILLED");
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
  test("a name that is taken is told with its holder; names and addresses must be some", async () => {
    const table = new EndpointTable();
    const [first, second] = [table.registryOf("the job /a"), table.registryOf("the job /b")];
    await first.registry.register("serve", "127.0.0.1:1");
    await expect(second.registry.register("serve", "127.0.0.1:2")).rejects.toMatchObject({ code: "IRIS_ENDPOINT_TAKEN", message: 'the job /b cannot offer "serve": the job /a offers it already, at 127.0.0.1:1.' });
    await expect(second.registry.register("two words", "127.0.0.1:2")).rejects.toMatchObject({ code: "IRIS_BAD_ENDPOINT" });
    await expect(second.registry.register("empty", "")).rejects.toMatchObject({ code: "IRIS_BAD_ENDPOINT" });
  });

  test("the end of an owner takes out its endpoints, and no other's of the same name; it can bring none back", async () => {
    const table = new EndpointTable();
    const [old, next] = [table.registryOf("attempt 0"), table.registryOf("attempt 1")];
    const stale = await old.registry.register("serve", "127.0.0.1:1");
    old.closeAll();
    await next.registry.register("serve", "127.0.0.1:2");
    await stale.close();
    expect(table.resolve("serve")).toBe("127.0.0.1:2");
    await expect(old.registry.register("late", "127.0.0.1:1")).rejects.toMatchObject({ code: "IRIS_BAD_ENDPOINT" });
  });
});
