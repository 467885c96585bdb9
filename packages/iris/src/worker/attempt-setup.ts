import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeDirectory } from "../platform.js";
import type { AttemptStart } from "../runtime/attempt-main.js";
import { type TaskIdentity, identityVariable } from "../runtime/task-identity.js";
import { attemptVariable } from "./processes.js";
import type { AttemptOrder } from "./protocol.js";

/** What an attempt's process is given. */
export interface AttemptSetup {
  /** Whether its process may have run others, and may run others after it. */
  readonly pooled: boolean;
  /** Variables that its process is started with. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables of this attempt alone, in a process that has run others. */
  readonly variables: Readonly<Record<string, string>>;
  readonly start: Omit<AttemptStart, "marker" | "variables">;
  /** Its output directory. */
  readonly outputs: string | undefined;
}

interface SetupParts {
  readonly uid: string;
  readonly order: AttemptOrder;
  readonly directory: string | undefined;
  readonly bundleDirectory: string | undefined;
  readonly ports: Readonly<Record<string, number>>;
  readonly gpus: readonly number[];
}

/** Lays out what an attempt's process is given, and makes its output directory. */
export async function attemptSetup({ uid, order, directory, bundleDirectory, ports, gpus }: SetupParts): Promise<AttemptSetup> {
  const { jobId, attempt, taskIndex, numTasks, resources, work } = order;
  const outputs = directory === undefined ? undefined : join(directory, "outputs");
  if (outputs !== undefined) await makeDirectory(outputs);
  const identity: TaskIdentity = { jobId, attempt, taskIndex, numTasks, resources, ports: { ...ports } };
  const own = {
    [identityVariable]: JSON.stringify(identity),
    [attemptVariable]: uid,
    // For programs that do not know iris.
    IRIS_JOB_ID: jobId,
    IRIS_ATTEMPT: String(attempt),
    IRIS_TASK_INDEX: String(taskIndex),
    IRIS_NUM_TASKS: String(numTasks),
    ...Object.fromEntries(Object.entries(ports).map(([name, port]) => [`IRIS_PORT_${name.toUpperCase().replaceAll("-", "_")}`, String(port)])),
    ...(outputs === undefined ? {} : { IRIS_OUTPUT_DIR: outputs }),
    ...(bundleDirectory === undefined ? {} : { IRIS_BUNDLE_DIR: bundleDirectory }),
  };
  const shared = { ...(gpus.length === 0 ? {} : { CUDA_VISIBLE_DEVICES: gpus.join(",") }), ...order.env };
  const command = work.kind === "command";
  // A command is a process of its own in any case: what starts it is iris's alone, and can be the same for all.
  const pooled = command || (order.isolation === "warm" && gpus.length === 0);
  return {
    pooled,
    env: command ? {} : pooled ? shared : { ...shared, ...own },
    variables: command ? { ...shared, ...own } : pooled ? own : {},
    outputs,
    start: { identity, attemptUid: uid, work: work.kind === "entry" ? { ...work, module: inBundle(work.module, order.bundle?.root, bundleDirectory) } : work, setup: order.setup, directory: bundleDirectory },
  };
}

/** A module of the packed folder, where it was unpacked. */
function inBundle(module: string, root: string | undefined, directory: string | undefined): string {
  if (root === undefined || directory === undefined || !module.startsWith(root)) return module;
  return `${pathToFileURL(`${directory}/`).href}${module.slice(root.length)}`;
}
