import { readFile } from "node:fs/promises";
import { statfsSync } from "node:fs";
import { availableParallelism, tmpdir, totalmem } from "node:os";
import { join, resolve } from "node:path";
import { z } from "zod";
import { MarinError, fileError, parseBytes } from "./platform.js";
import type { Resources } from "./jobs/job-spec.js";

const localSchema = z.strictObject({
  type: z.literal("local").describe("tasks are processes of this machine"),
  cpus: z.number().positive().optional().describe("processors to give to tasks; default all"),
  memory: z.string().optional().describe('memory to give to tasks, for example "8GiB"; default all'),
  gpus: z.number().int().min(0).default(0).describe("graphics processors to give to tasks"),
});

/** A cluster that jobs can be submitted to. */
export interface ClusterConfig {
  /** Its name. */
  readonly name: string;
  /** What kind of cluster it is. */
  readonly type: "local";
  /** What its tasks can have together. */
  readonly capacity: Resources;
}

/** An example of a cluster file's content. */
const example = '{ "type": "local", "cpus": 2, "memory": "4GiB" }';

/** What this machine has: processors, memory as far as its limits let this process have it, and disk that is free where temporary files go. */
export function machineCapacity(): Resources {
  const limit = process.constrainedMemory();
  // Without a limit the value is 0 or far more than there is.
  const memoryBytes = limit !== undefined && limit > 0 ? Math.min(limit, totalmem()) : totalmem();
  const { bavail, bsize } = statfsSync(tmpdir());
  return { cpu: availableParallelism(), memoryBytes, diskBytes: bavail * bsize };
}

/** The file that configures a cluster: `<name>.json` in the directory MARIN_CLUSTERS, or in `clusters` under the working directory. */
export function clusterFile(name: string): string {
  return join(resolve(process.env["MARIN_CLUSTERS"] ?? "clusters"), `${name}.json`);
}

/**
 * How a cluster is configured. "local" needs no file: it is this machine.
 *
 * @param name - lower-case words of letters and digits, joined by -
 * @throws MarinError IRIS_CLUSTER_UNKNOWN (no file configures it; names the file to write), IRIS_CLUSTER_INVALID (names the field),
 * IRIS_CLUSTER_UNSUPPORTED (a type this version does not know), IRIS_BAD_CLUSTER_NAME
 */
export async function readCluster(name: string): Promise<ClusterConfig> {
  if (!/^[a-z0-9]+(?:[-_][a-z0-9]+)*$/.test(name)) {
    throw new MarinError("IRIS_BAD_CLUSTER_NAME", `"${name}" cannot name a cluster: use lower-case letters, digits, - and _.`, { data: { name } });
  }
  const path = clusterFile(name);
  const text = await readText(path);
  if (text === undefined) {
    if (name === "local") return { name, type: "local", capacity: machineCapacity() };
    throw new MarinError(
      "IRIS_CLUSTER_UNKNOWN",
      `No cluster is called "${name}": write ${path}, for example ${example}, or submit to "local", which is this machine.`,
      { data: { cluster: name, path } },
    );
  }
  return parseCluster(name, path, text);
}

function parseCluster(name: string, path: string, text: string): ClusterConfig {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw invalid(name, path, "it is not JSON", cause);
  }
  const type = (json as { readonly type?: unknown } | null)?.type;
  if (typeof type === "string" && type !== "local") {
    throw new MarinError(
      "IRIS_CLUSTER_UNSUPPORTED",
      `The cluster "${name}" is of type "${type}" (${path}), which is not supported yet: this version runs jobs on clusters of type "local".`,
      { data: { cluster: name, path, type } },
    );
  }
  const parsed = localSchema.safeParse(json);
  if (!parsed.success) {
    throw invalid(name, path, parsed.error.issues.map((issue) => `${issue.path.join(".") || "the file"}: ${issue.message}`).join("; "), parsed.error);
  }
  const machine = machineCapacity();
  const { cpus, memory, gpus } = parsed.data;
  try {
    return { name, type: "local", capacity: { ...machine, cpu: cpus ?? machine.cpu, memoryBytes: memory === undefined ? machine.memoryBytes : parseBytes(memory), ...gpuDevices(gpus) } };
  } catch (cause) {
    throw invalid(name, path, `memory: ${cause instanceof Error ? cause.message : String(cause)}`, cause);
  }
}

/** Graphics processors as a part of a capacity. */
export function gpuDevices(count: number): Pick<Resources, "device"> {
  return count > 0 ? { device: { kind: "gpu", count } } : {};
}

function invalid(name: string, path: string, problem: string, cause: unknown): MarinError {
  return new MarinError("IRIS_CLUSTER_INVALID", `${path} does not describe the cluster "${name}": ${problem} A right one: ${example}`, { data: { cluster: name, path }, cause });
}

async function readText(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw fileError(error, { action: "read the cluster file", path });
  }
}
