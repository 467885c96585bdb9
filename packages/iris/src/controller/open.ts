import { chmodSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { Connection } from "@marin/ducky";
import { machineCapacity } from "../cluster-file.js";
import type { IrisApi } from "../client/iris-api.js";
import { serveAttemptsApi } from "../client/iris-service.js";
import type { Resources } from "../jobs/job-spec.js";
import { LineLog } from "../jobs/line-log.js";
import { MarinError, lockDirectory } from "../platform.js";
import { workerDaemon } from "../worker/daemon.js";
import { remoteWorker } from "../worker/link.js";
import type { Caller } from "./admission.js";
import { Controller, type ControllerSettings } from "./controller.js";
import { controllerApi } from "./controller-api.js";
import { ownName } from "./local.js";
import { openSeal, sealKeyName } from "./seal.js";
import { Store } from "./store.js";

/** Jobs that have ended and are held in memory, so that those who have just followed them need no file. */
const endedInMemory = 64;

/** The worker of the controller's own machine. */
export interface OwnWorker {
  /** What it gives to tasks. Default: all of the machine. */
  readonly capacity?: Resources;
  /** What constraints may ask for. Default none. */
  readonly attributes?: Readonly<Record<string, string | number | boolean>>;
  /** Warm processes to start ahead. Default 0. */
  readonly warm?: number;
  /** Without a controller for so long it stops what it runs, in milliseconds. Default 600,000. */
  readonly orphanMs?: number;
}

/** Settings of {@link openController}. */
export interface OpenControllerOptions extends Pick<ControllerSettings, "times" | "limits"> {
  /** Where it keeps everything; one process at a time. */
  readonly dir: string;
  /** The worker of this machine, a process that outlives this one. "none": workers come from elsewhere. Default: one with the whole machine. */
  readonly worker?: OwnWorker | "none";
  /** Storage paths of packed workspaces and of archived outputs. Default: below the directory. */
  readonly bundles?: string;
  readonly outputs?: string;
  /** Jobs that have ended and are kept; the oldest go first. Default 100,000. */
  readonly endedKept?: number;
  /** Only to look: takes no jobs, and decides nothing. Default false. */
  readonly readOnly?: boolean;
}

/** A controller that is open in this process. */
export interface OpenController {
  /** The controller, as somebody may use it. */
  api(caller: Caller): IrisApi;
  /** Takes a worker that has dialled in; it is kept until the connection closes. */
  addWorker(connection: Connection): Promise<void>;
  /** Its database, which others may read. */
  readonly databasePath: string;
  /** Lets go of it. Jobs go on, and with them the worker of this machine; one that has nothing to do ends. */
  close(): Promise<void>;
}

/**
 * Opens the controller of a directory, and continues what an earlier one has left: what runs is taken over from the workers, what ended meanwhile is
 * heard from them, and nothing is run twice.
 *
 * @throws MarinError RIGGING_LOCKED when another process has it open; IRIS_BAD_DIRECTORY when it holds something else; IRIS_STORE_VERSION, IRIS_STORE_FAILED, IRIS_SEAL_BROKEN; IRIS_WORKER_START
 */
export async function openController(options: OpenControllerOptions): Promise<OpenController> {
  const { dir, worker = {}, readOnly = false, times, limits, endedKept = 100_000 } = options;
  refuseOthers(dir);
  const lock = await lockDirectory(dir);
  const undo: (() => unknown)[] = [() => lock.release()];
  try {
    chmodSync(dir, 0o700);
    const seal = await openSeal(dir);
    const databasePath = join(dir, "iris.db");
    const store = await Store.open(databasePath);
    undo.push(() => store.close());
    const logPath = (uid: string): string => join(dir, "logs", `${uid}.jsonl`);
    const controller = new Controller(store, seal, {
      endedInMemory,
      endedKept,
      user: ownName(),
        openLog: ({ uid }) => new LineLog({ path: logPath(uid) }),
      removeLog: (uid) => rmSync(logPath(uid), { force: true }),
      readOnly,
      ...(times === undefined ? {} : { times }),
      ...(limits === undefined ? {} : { limits }),
    });
    undo.push(() => controller.close(controller.idle));
    const attemptApi = (uid: string): IrisApi => controllerApi(controller, { kind: "attempt", uid });
    if (worker !== "none" && !readOnly) {
      const { capacity = machineCapacity(), ...rest } = worker;
      const settings = { name: "local", directory: join(dir, "worker"), capacity, bundles: options.bundles ?? join(dir, "bundles"), outputs: options.outputs ?? join(dir, "outputs"), ...rest };
      const open = (): ReturnType<typeof workerDaemon> => workerDaemon(settings, attemptApi);
      controller.addWorker(await open(), open);
    }
    return {
      api: (caller) => controllerApi(controller, caller),
      addWorker: async (connection) => {
        serveAttemptsApi(connection, attemptApi);
        controller.addWorker(await remoteWorker(connection));
      },
      databasePath,
      close: () => unwind(undo),
    };
  } catch (error) {
    await unwind(undo);
    throw error;
  }
}

/** What may lie in a directory before its first controller: keys that were made for it, a file system's own. */
const mayPrecede: ReadonlySet<string> = new Set(["keys", "bundles", "outputs", "lost+found"]);

/** A controller's directory is readable for its user alone: one with a project or a home in it would be closed to everybody else. */
function refuseOthers(dir: string): void {
  let names: string[];
  try {
    names = readdirSync(dir);
  } catch {
    // It is not there yet; whatever else is wrong is told when it is locked.
    return;
  }
  if (names.includes(sealKeyName)) return;
  const other = names.find((name) => !name.startsWith(".") && !mayPrecede.has(name));
  if (other === undefined) return;
  throw new MarinError("IRIS_BAD_DIRECTORY", `${dir} holds other files, such as ${other}. A controller keeps a directory to itself, which only its user may read: give it one of its own, for example ${join(dir, ".iris")}.`, { data: { directory: dir, other } });
}

async function unwind(undo: (() => unknown)[]): Promise<void> {
  for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
}
