import { afterAll, beforeAll, describe, test } from "vitest";
import { clientCases } from "./conformance/index.js";
import { entry, LocalClient } from "./index.js";
import type * as actors from "../test/actors.js";

describe.each(["process", "thread"] as const)("the local client, with %ss,", (kind) => {
  const client = new LocalClient({ name: "conformance", kind, workers: 1 });
  beforeAll(async () => {
    // Keeps the worker that the cases share.
    await client.createActor(entry<typeof actors.Counter>(new URL("../test/actors.ts", import.meta.url), "Counter"), [0], { kind, name: "keeper", worker: "shared" });
  });
  afterAll(() => client.shutdown());
  for (const { name, run } of clientCases({ kind, worker: "shared" })) test(name, () => run(client));
});
