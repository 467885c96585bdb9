import { hostname } from "node:os";
import { Channel } from "@marin/ducky";
import { callController, httpBundles } from "../../bundles/http-bundles.js";
import { machineCapacity } from "../../cluster-file.js";
import type { Device } from "../../jobs/job-spec.js";
import { lockDirectory } from "../../platform.js";
import { WorkerProcess } from "../../worker/worker-process.js";
import { checkUrl, tokenOf } from "../connect.js";
import type { CommandContext, TargetFlags } from "../context.js";
import { directoryOf } from "../directory.js";
import { exitCodes } from "../exit-codes.js";
import { plainValue } from "../flags.js";
import { usageError } from "../usage.js";
import { untilInterrupted } from "./controller.js";

/** Flags of `iris worker`. */
export interface WorkerFlags extends TargetFlags {
  readonly name?: string;
  readonly cpus?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly device?: Device;
  readonly attribute?: readonly (readonly [string, string])[];
  readonly taint?: readonly string[];
  readonly orphanAfter: number;
  readonly warm: number;
}

/** `iris worker`: gives this machine to a controller elsewhere. It dials, so that only the controller needs an open port. */
export async function workerCommand({ environment, output, signal }: CommandContext, flags: WorkerFlags): Promise<number> {
  const { name = hostname().toLowerCase(), cpus, memory, disk, device, attribute = [], taint = [], orphanAfter, warm } = flags;
  const given = flags.controller ?? environment.variables["IRIS_CONTROLLER"];
  if (given === undefined) throw usageError("name the controller: --controller http://head:7733; the worker of a controller's own machine comes with it");
  const url = checkUrl(given);
  const token = await tokenOf(flags, environment);
  const directory = `${directoryOf(flags, environment)}/worker-${name}`;
  const machine = machineCapacity();
  const capacity = {
    ...machine,
    ...(cpus === undefined ? {} : { cpu: cpus }),
    ...(memory === undefined ? {} : { memoryBytes: memory }),
    ...(disk === undefined ? {} : { diskBytes: disk }),
    ...(device === undefined ? {} : { device }),
  };
  await using _lock = await lockDirectory(directory);
  const attributes = Object.fromEntries(attribute.map(([key, value]) => [key, plainValue(value)]));
  const address = { url, token };
  const outputs = {
    write: async (path: string, data: AsyncIterable<Uint8Array>, { signal: ended }: { readonly signal?: AbortSignal } = {}): Promise<void> => {
      await callController(address, `/outputs/${encodeURIComponent(path)}`, { method: "PUT", body: data as never, duplex: "half", signal: ended ?? null } as RequestInit);
    },
  };
  const worker = await WorkerProcess.start({ name, directory, capacity, attributes, taints: [...taint], orphanMs: orphanAfter, warm }, { bundles: httpBundles(address), outputs });
  const channel = new Channel({
    resolve: () => `${url.replace(/^http/, "ws")}/worker`,
    ...(token === undefined ? {} : { token }),
    maxWaitMs: 2 ** 31 - 1,
    onConnection: (connection) => worker.serve(connection),
  });
  try {
    await channel.connected({ signal });
    output.event("joined", { worker: name, url, directory });
    output.line(`worker ${name} has joined ${url}; Ctrl-C stops it and its tasks`);
    await Promise.race([untilInterrupted(environment), worker.closed]);
    output.note("stopping");
    return exitCodes.success;
  } finally {
    await channel.close();
    await worker.close();
  }
}
