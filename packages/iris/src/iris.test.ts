import { chmod, mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { add } from "../test/fixtures/tasks.js";
import { gone } from "../test/processes.js";
import { type OpenController, openController } from "./controller/open.js";
import { Iris } from "./iris.js";
import { entry } from "./platform.js";
import { type IrisServer, startIrisServer } from "./server/server.js";

const work = entry<typeof add>(new URL("../test/fixtures/tasks.ts", import.meta.url), "add");
let dir: string;
beforeEach(async () => {
  dir = await mkdtemp(join(tmpdir(), "iris-open-"));
});
afterEach(() => rm(dir, { recursive: true }));

describe("Iris.open", () => {
  test("runs jobs that the next one finds, with history, log and value; who has it open is the only one; nothing is left when it is closed", { timeout: 120_000 }, async () => {
    const worker = { capacity: { cpu: 2, memoryBytes: 2 ** 30, diskBytes: 2 ** 30 } };
    const first = await Iris.open({ dir, worker });
    const { pid } = JSON.parse(await readFile(join(dir, "worker", "worker.json"), "utf8")) as { pid: number };
    await expect(Iris.open({ dir })).rejects.toMatchObject({ code: "RIGGING_LOCKED" });
    const job = await first.submit({ name: "add", entry: work, args: [2, 3], env: { PLANTED: "not-to-be-found" } });
    expect(await job.wait()).toMatchObject({ state: "SUCCEEDED", value: 5 });
    await first.close();
    await gone([pid], 20_000);
    const second = await Iris.open({ dir, worker: "none" });
    const found = await second.get("/add");
    expect(found.uid).toBe(job.uid);
    expect(await found.wait()).toMatchObject({ state: "SUCCEEDED", value: 5 });
    expect(await found.status()).toMatchObject({ tasks: [{ state: "SUCCEEDED", worker: "local", attempts: [{ number: 0, state: "SUCCEEDED" }] }] });
    expect(await second.list({ states: ["SUCCEEDED"] })).toMatchObject([{ id: "/add", tasks: { SUCCEEDED: 1 } }]);
    await second.close();
    for (const file of (await readdir(dir)).filter((name) => name.startsWith("iris.db"))) expect((await readFile(join(dir, file))).includes("not-to-be-found")).toBe(false);
  });
});

test("a directory that holds other things is refused, and stays as it is", async () => {
  await chmod(dir, 0o755);
  await writeFile(join(dir, "notes.txt"), "mine");
  await expect(Iris.open({ dir })).rejects.toMatchObject({ code: "IRIS_BAD_DIRECTORY", data: { other: "notes.txt" } });
  expect([(await stat(dir)).mode & 0o777, await readdir(dir)]).toEqual([0o755, ["notes.txt"]]);
});

describe("Iris.connect", () => {
  let controller: OpenController | undefined;
  let server: IrisServer | undefined;
  const start = async (port: number): Promise<IrisServer> => {
    const opened = await openController({ dir, worker: "none" });
    controller = opened;
    server = await startIrisServer({ api: () => opened.api({ kind: "client" }), port });
    return server;
  };
  const stop = async (): Promise<void> => {
    await server?.close();
    await controller?.close();
    [server, controller] = [undefined, undefined];
  };
  afterEach(stop);

  test("the client waits while the server is away, and submissions, waits and followers go on where they were", { timeout: 60_000 }, async () => {
    const { url } = await start(0);
    const client = await Iris.connect(url);
    const job = await client.submit({ name: "waits", entry: work });
    expect(await job.status()).toMatchObject({ id: "/waits", state: "PENDING", pending: { dimension: "workers" } });
    const states: string[] = [];
    const following = (async () => {
      for await (const event of job.events()) if (event.type === "state") states.push(event.status.state);
    })();
    const waiting = job.wait();
    await expect(job.wait({ timeoutMs: 10 })).rejects.toMatchObject({ code: "IRIS_WAIT_TIMEOUT" });
    await stop();
    const submitting = client.submit({ name: "later", entry: work }, { submissionId: "once" });
    await start(Number(new URL(url).port));
    const later = await submitting;
    expect((await client.submit({ name: "later", entry: work }, { submissionId: "once" })).uid).toBe(later.uid);
    await expect(client.submit({ name: "waits", entry: work })).rejects.toMatchObject({ code: "IRIS_JOB_EXISTS", data: { uid: job.uid } });
    await job.cancel("enough");
    expect(await waiting).toMatchObject({ state: "KILLED", error: { code: "IRIS_CANCELLED", message: "The job /waits was cancelled: enough." } });
    await following;
    expect([states[0], states.at(-1)]).toEqual(["PENDING", "KILLED"]);
    await client.close();
    expect((await controller?.api({ kind: "client" }).status({ job: later.uid }))?.state).toBe("PENDING");
  });

  test.each(["127.0.0.1:7070", "ftp://host", "http://host/path"])("%s is refused as a server's URL", async (url) => {
    await expect(Iris.connect(url)).rejects.toMatchObject({ code: "IRIS_BAD_URL" });
  });
});
