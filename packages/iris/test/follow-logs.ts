import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { Iris } from "../src/iris.js";
import type { IrisClient } from "../src/client/client.js";
import { entry } from "../src/platform.js";
import { workerDaemon } from "../src/worker/daemon.js";
import type { loud } from "./fixtures/tasks.js";
import { gone } from "./processes.js";
import { noApi } from "./worker-harness.js";

const script = fileURLToPath(new URL("./fixtures/served-controller.ts", import.meta.url));

interface Served {
  readonly process: ChildProcess;
  readonly url: string;
}

async function serve(dir: string, port: string): Promise<Served> {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, dir, port], { stdio: ["ignore", "pipe", "inherit"] });
  const [url] = (await Promise.race([once(createInterface(child.stdout), "line"), once(child, "exit").then(() => Promise.reject(new Error("the controller ended")))])) as [string];
  return { process: child, url };
}

/**
 * Follows the log of loud tasks, some of which die and start again, while their controller is killed and started again.
 *
 * @param tasks - tasks of the job
 * @param lines - lines of each attempt that does not die
 * @param kills - how often the controller is killed, evenly over the lines
 * @returns what is wrong; nothing when each attempt's lines are all there, once and in order
 */
export async function followLogs(tasks: number, lines: number, kills: number): Promise<{ readonly seen: number; readonly problems: readonly string[] }> {
  const dir = await mkdtemp(join(tmpdir(), "iris-follow-"));
  let served = await serve(dir, "0");
  const { url } = served;
  const problems: string[] = [];
  const next = new Map<string, number>();
  let seen = 0;
  let client: IrisClient | undefined;
  try {
    client = await Iris.connect(url, { maxWaitMs: 120_000 });
    const job = await client.submit({
      name: "loud",
      entry: entry<typeof loud>(new URL("./fixtures/tasks.ts", import.meta.url), "loud"),
      args: [lines],
      replicas: tasks,
      resources: { cpu: 0.5 },
      maxRetriesFailure: 1,
      backoff: { initialMs: 1 },
    });
    const total = expectedLines(tasks, lines);
    let killed = 0;
    for await (const { message } of job.logs({ follow: true })) {
      const match = /^(task \d+ attempt \d+) line (\d+)$/.exec(message);
      if (match === null) continue;
      const [, attempt = "", line] = match;
      const wanted = next.get(attempt) ?? 0;
      if (Number(line) !== wanted) problems.push(`${attempt}: line ${String(line)} follows ${String(wanted - 1)}`);
      next.set(attempt, Number(line) + 1);
      seen += 1;
      if (killed < kills && seen > ((killed + 1) * total) / (kills + 1)) {
        killed += 1;
        served.process.kill("SIGKILL");
        await once(served.process, "exit");
        served = await serve(dir, new URL(url).port);
      }
    }
    const { state } = await job.wait();
    if (state !== "SUCCEEDED") problems.push(`the job is ${state}`);
    if (killed < kills) problems.push(`the controller was killed ${String(killed)} times only`);
    for (let task = 0; task < tasks; task += 1) {
      const dies = task % 5 === 1;
      if (dies) expectCount(`task ${String(task)} attempt 0`, Math.floor(lines / 2));
      expectCount(`task ${String(task)} attempt ${dies ? "1" : "0"}`, lines);
    }
  } finally {
    await client?.close();
    served.process.kill("SIGKILL");
    const worker = await workerDaemon({ name: "local", directory: join(dir, "worker"), capacity: { cpu: 1, memoryBytes: 0, diskBytes: 0 } }, () => noApi);
    await worker.shutdown(Number.MAX_SAFE_INTEGER).catch(() => undefined);
    await gone([worker.info.pid], 60_000);
    await rm(dir, { recursive: true, force: true });
  }
  return { seen, problems };

  function expectCount(attempt: string, count: number): void {
    const found = next.get(attempt) ?? 0;
    if (found !== count) problems.push(`${attempt}: ${String(found)} lines of ${String(count)}`);
  }
}

function expectedLines(tasks: number, lines: number): number {
  const dying = Array.from({ length: tasks }, (_, task) => task).filter((task) => task % 5 === 1).length;
  return tasks * lines + dying * Math.floor(lines / 2);
}
