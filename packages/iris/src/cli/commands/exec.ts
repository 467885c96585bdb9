import { MarinError } from "../../platform.js";
import type { CommandContext } from "../context.js";
import { usageError } from "../usage.js";

/** Flags of `iris exec`. */
export interface ExecFlags {
  readonly task?: number;
  readonly timeout?: number;
}

/** Where a command could not be run to its end. */
const notRun = 255;

/** `iris exec`: runs a command beside a running task, and gives its exit code. */
export async function execCommand({ connect, environment, output, signal }: CommandContext, job: string, argv: readonly string[], { task, timeout }: ExecFlags): Promise<number> {
  if (argv.length === 0) throw usageError("name the command behind --, for example iris exec /train -- nvidia-smi");
  await using target = await connect("no");
  const ended = new AbortController();
  const stopListening = environment.onInterrupt(() => ended.abort(new MarinError("IRIS_INTERRUPTED", "interrupted; the command was ended, the job goes on")));
  try {
    const request = { job, argv, ...(task === undefined ? {} : { taskIndex: task }), ...(timeout === undefined ? {} : { timeoutMs: timeout }) };
    for await (const event of target.api.exec(request, { signal: AbortSignal.any([signal, ended.signal]) })) {
      output.event(event.type, event);
      if (event.type === "exit") {
        if (event.signal !== null) output.note(`ended by ${event.signal}`);
        return event.code ?? notRun;
      }
      const text = event.text.replace(/\n$/, "");
      if (event.source === "stdout") output.line(text);
      else if (!output.json) output.note(text);
    }
    throw new MarinError("IRIS_EXEC_LOST", "The command's end was not told: the worker or its connection is gone.");
  } finally {
    stopListening();
  }
}
