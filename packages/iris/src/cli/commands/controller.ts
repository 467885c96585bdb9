import { machineCapacity } from "../../cluster-file.js";
import type { Device } from "../../jobs/job-spec.js";
import { createLogger } from "../../platform.js";
import type { CommandContext, TargetFlags } from "../context.js";
import { directoryOf } from "../directory.js";
import { startController } from "../embedded.js";
import { exitCodes } from "../exit-codes.js";

/** Flags of `iris controller`. */
export interface ControllerFlags extends TargetFlags {
  readonly host: string;
  readonly port: number;
  readonly worker: boolean;
  readonly trustLoopback: boolean;
  readonly cpus?: number;
  readonly memory?: number;
  readonly device?: Device;
}

/** `iris controller`: a controller with its server, until it is told to stop. Jobs go on without it. */
export async function controllerCommand({ environment, output }: CommandContext, flags: ControllerFlags): Promise<number> {
  const { host, port, worker, trustLoopback, cpus, memory, device } = flags;
  const directory = directoryOf(flags, environment);
  const machine = machineCapacity();
  const capacity = worker ? { ...machine, ...(cpus === undefined ? {} : { cpu: cpus }), ...(memory === undefined ? {} : { memoryBytes: memory }), ...(device === undefined ? {} : { device }) } : ("none" as const);
  const log = createLogger({ write: (line) => environment.stderr.write(line) });
  await using controller = await startController({ directory, mode: "run", capacity, host, port, trustLoopback, log });
  output.event("listening", { url: controller.url, directory });
  output.line(`controller of ${directory} at ${String(controller.url)}; Ctrl-C stops it, jobs go on`);
  await untilInterrupted(environment);
  output.note("stopping; jobs go on, and are taken up again by the next controller of this directory");
  return exitCodes.success;
}

/** Waits for Ctrl-C or TERM. */
export function untilInterrupted(environment: CommandContext["environment"]): Promise<void> {
  return new Promise((resolve) => {
    const stop = environment.onInterrupt(() => {
      stop();
      resolve();
    });
  });
}
