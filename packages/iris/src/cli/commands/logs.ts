import type { LogLevel } from "../../platform.js";
import { MarinError } from "../../platform.js";
import type { CommandContext } from "../context.js";
import { exitCodes } from "../exit-codes.js";
import { lineText } from "../text.js";

/** Flags of `iris logs`. */
export interface LogsFlags {
  readonly follow?: true;
  readonly tail?: number;
  readonly level?: LogLevel;
  readonly task?: number;
  readonly contains?: string;
}

/** `iris logs`: a job's log. Ctrl-C ends the reading; the job goes on. */
export async function logsCommand({ connect, environment, output, signal }: CommandContext, job: string, { follow = undefined, tail, level, task, contains }: LogsFlags): Promise<number> {
  await using target = await connect("read");
  const detach = new AbortController();
  const stopListening = environment.onInterrupt(() => detach.abort(new MarinError("IRIS_INTERRUPTED", `no longer following ${job}, which goes on`)));
  try {
    const { uid, tasks } = await target.api.status({ job }, { signal });
    const request = { job: uid, follow, tail, minLevel: level, taskIndex: task };
    for await (const { lines } of target.api.logs(request, { signal: AbortSignal.any([signal, detach.signal]) })) {
      for (const line of lines) {
        const text = lineText(line, tasks.length > 1);
        if (contains !== undefined && !text.includes(contains)) continue;
        output.event("log", line);
        output.line(text);
      }
    }
    return exitCodes.success;
  } finally {
    stopListening();
  }
}
