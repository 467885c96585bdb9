import { failureToWire } from "../../runtime/failure.js";
import { MarinError, formatDuration } from "../../platform.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";

/** Flags of `iris stop`. */
export interface StopFlags {
  readonly reason?: string;
  readonly wait: boolean;
  readonly timeout: number;
}

/** `iris stop`: cancels jobs with all below them, and waits until nothing of them runs any more. */
export async function stopCommand({ connect, output, signal }: CommandContext, jobs: readonly string[], { reason, wait, timeout }: StopFlags): Promise<number> {
  await using target = await connect("no");
  const found = await Promise.all(jobs.map((job) => target.api.status({ job }, { signal })));
  for (const { uid } of found) await target.api.cancel({ job: uid, reason: failureToWire(new MarinError("IRIS_CANCELLED", reason ?? "stopped by iris stop")) }, { signal });
  for (const { uid, id } of found) {
    if (!wait) {
      output.event("stopping", { job: id, uid });
      output.line(`${id}: stopping`);
      continue;
    }
    const deadline = AbortSignal.timeout(timeout);
    const result = await target.api.wait({ job: uid }, { signal: AbortSignal.any([signal, deadline]) }).catch((error: unknown) => {
      if (!deadline.aborted) throw error;
      throw new MarinError("IRIS_TIMEOUT", `${id} has not ended within ${formatDuration(timeout)}: iris describe ${id} shows what remains.`, { data: { job: id } });
    });
    output.event("stopped", { job: id, uid, state: result.state });
    output.line(`${id}: ${result.state}`);
  }
  return exitCodes.success;
}
