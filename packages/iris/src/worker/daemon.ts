import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { Connection, connectWebSocket } from "@marin/ducky";
import { launch } from "@marin/fray";
import { z } from "zod";
import { chaosAt, chaosEnvironment } from "../chaos/chaos.js";
import type { IrisApi } from "../client/iris-api.js";
import { serveAttemptsApi } from "../client/iris-service.js";
import { resourcesSchema } from "../jobs/job-spec.js";
import { MarinError, fileError, makeDirectorySync } from "../platform.js";
import { type WorkerLink, remoteWorker } from "./link.js";

/** What a worker's process is started with. */
export const daemonSettingsSchema = z.strictObject({
  name: z.string().min(1).describe("the worker's name, kept over restarts"),
  directory: z.string().min(1).describe("where it keeps its attempts; one process at a time"),
  capacity: resourcesSchema.describe("what it gives to tasks"),
  attributes: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])).default({}).describe("what constraints may ask for"),
  taints: z.array(z.string()).default([]).describe("what keeps tasks away that do not tolerate it"),
  orphanMs: z.number().positive().default(600_000).describe("without a controller for so long it stops its attempts and ends, in milliseconds"),
  warm: z.number().int().min(0).default(0).describe("warm processes to start ahead"),
  bundles: z.string().optional().describe("where packed workspaces are fetched from, as a storage path; default nowhere"),
  outputs: z.string().optional().describe("where output directories are archived, as a storage path; default nowhere"),
});

/** Settings of a worker's process. */
export type DaemonSettings = z.input<typeof daemonSettingsSchema>;

/** Where a worker's process is reached; kept in its directory, for its user alone. */
export const addressSchema = z.strictObject({ url: z.string(), token: z.string(), pid: z.number().int() });

/** Name of the file with the address. */
export const addressFile = "worker.json";

/** How long a worker's process may take to come up. */
const startMs = 60_000;

const daemonMain = new URL(import.meta.url.endsWith(".ts") ? "./daemon-main.ts" : "./daemon-main.js", import.meta.url);

/**
 * The way to the worker of a directory: to the process that runs, or else to a new one, which outlives this process.
 *
 * @param settings - for a process that is started; one that runs keeps its own
 * @param api - what its attempts may ask of this controller
 * @throws MarinError IRIS_WORKER_START when no process comes up
 */
export async function workerDaemon(settings: DaemonSettings, api: (attemptUid: string) => IrisApi): Promise<WorkerLink> {
  await chaosAt("worker.register");
  const found = await connect(settings.directory, api);
  if (found !== undefined) return found;
  const exited = startDaemon(settings);
  const giveUpAt = performance.now() + startMs;
  for (;;) {
    const exit = await Promise.race([exited, delay(20)]);
    const link = await connect(settings.directory, api);
    if (link !== undefined) return link;
    if (exit !== undefined || performance.now() > giveUpAt) {
      const log = join(settings.directory, logFile);
      throw new MarinError("IRIS_WORKER_START", `The worker ${settings.name} did not come up${exit === undefined ? ` within ${String(startMs)} ms` : `: its process ended with ${exit}`}. What it said stands in ${log}.`, {
        data: { worker: settings.name, directory: settings.directory, log },
      });
    }
  }
}

const logFile = "daemon.log";

/** @returns how it ended, if it does: it goes on without this process */
async function startDaemon(settings: DaemonSettings): Promise<string> {
  try {
    makeDirectorySync(settings.directory, { mode: 0o700 });
  } catch (error) {
    throw fileError(error, { action: "make the worker's directory", path: settings.directory });
  }
  const log = openSync(join(settings.directory, logFile), "a", 0o600);
  const child = spawn(process.execPath, [...launch().execArgv, fileURLToPath(daemonMain), JSON.stringify(settings)], {
    detached: true,
    stdio: ["ignore", log, log],
    env: { ...process.env, ...chaosEnvironment() },
  });
  closeSync(log);
  child.unref();
  try {
    const [code, signal] = (await once(child, "exit")) as [number | null, string | null];
    return signal === null ? `exit code ${String(code)}` : `signal ${signal}`;
  } catch (error) {
    return (error as Error).message;
  }
}

async function connect(directory: string, api: (attemptUid: string) => IrisApi): Promise<WorkerLink | undefined> {
  const address = await readAddress(directory);
  if (address === undefined) return undefined;
  try {
    const connection = new Connection(await connectWebSocket(address.url, { token: address.token }), { peer: "the worker" });
    serveAttemptsApi(connection, api);
    return await remoteWorker(connection);
  } catch {
    // Left behind by a process that is gone; the next one writes its own.
    return undefined;
  }
}

async function readAddress(directory: string): Promise<z.output<typeof addressSchema> | undefined> {
  try {
    return addressSchema.parse(JSON.parse(await readFile(join(directory, addressFile), "utf8")));
  } catch {
    return undefined;
  }
}
