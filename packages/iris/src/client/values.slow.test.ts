import { expect, test } from "vitest";
import type { returnsBytes } from "../../test/fixtures/tasks.js";
import { Iris } from "../iris.js";
import { entry } from "../platform.js";
import { startIrisServer } from "../server/server.js";
import { IrisClient, apiOf } from "./client.js";

const bytes = 25_000_000;

test("values that together go into no message arrive whole, here and over a connection", { timeout: 120_000 }, async () => {
  await using local = IrisClient.local({ cpus: 3, memoryBytes: 2 ** 30 });
  await using server = await startIrisServer({ api: () => apiOf(local) });
  await using remote = await Iris.connect(server.url);
  const { id } = await local.submit({ name: "large", entry: entry<typeof returnsBytes>(new URL("../../test/fixtures/tasks.ts", import.meta.url), "returnsBytes"), args: [bytes], replicas: 3 });
  for (const client of [local, remote]) {
    const { state, value, values } = await (await client.get(id)).wait();
    expect(state).toBe("SUCCEEDED");
    expect(value).toBe(values[0]);
    expect((values as Uint8Array[]).map((each) => [each.length, each[0], each.at(-1)])).toEqual([0, 1, 2].map((index) => [bytes, index, index]));
  }
});
