import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { collect } from "../../test/collect.js";
import type { logs } from "../../test/fixtures/tasks.js";
import { entry } from "../platform.js";
import { IrisClient } from "./client.js";

test("twenty tasks that log and print ten thousand lines each: followers see every one, in order", async () => {
  const lines = 10_000;
  const directory = await mkdtemp(join(tmpdir(), "iris-"));
  await using client = IrisClient.local({ directory });
  const job = await client.submit({ name: "loud", entry: entry<typeof logs>(new URL("../../test/fixtures/tasks.ts", import.meta.url), "logs"), args: [lines], replicas: 20, resources: { cpu: 0.5 } });
  const followed = await collect(job.logs({ follow: true }));
  expect((await job.wait()).state).toBe("SUCCEEDED");
  for (let taskIndex = 0; taskIndex < 20; taskIndex += 1) {
    const own = followed.filter((line) => line.taskIndex === taskIndex);
    for (const [source, word] of [["log", "logged"], ["stdout", "printed"]] as const) {
      const messages = own.filter((line) => line.source === source && line.message !== "the last line").map(({ message }) => message);
      expect(messages).toEqual(Array.from({ length: lines }, (_, line) => `${word} ${line}`));
    }
    expect(own.filter(({ message }) => message === "the last line")).toHaveLength(1);
  }
  await rm(directory, { recursive: true });
});
