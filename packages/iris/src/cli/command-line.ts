import { CommanderError } from "commander";
import { redactor } from "@marin/rigging";
import { MarinError, fileError, isMarinError } from "../platform.js";
import type { CommandContext, TargetFlags } from "./context.js";
import type { CliEnvironment } from "./environment.js";
import { exitCodeOf, exitCodes } from "./exit-codes.js";
import { Output } from "./output.js";
import { createProgram } from "./program.js";
import { explainUsage } from "./usage.js";

/**
 * Runs `iris` with these arguments.
 *
 * @param argv - what follows `iris`
 * @returns the exit code: see {@link exitCodes}
 */
export async function runCommandLine(argv: readonly string[], environment: CliEnvironment): Promise<number> {
  // What belongs to a job's own command is its own.
  const own = argv.includes("--") ? argv.slice(0, argv.indexOf("--")) : argv;
  const output = new Output(environment, own.includes("--json"));
  redactor.addEnvironment(environment.variables);
  let chosen: { readonly flags: TargetFlags; readonly action: (context: CommandContext) => Promise<number> } | undefined;
  const program = createProgram((flags, action) => (chosen = { flags, action }), (text) => environment.stdout.write(text));
  try {
    if (own.length === 0) {
      environment.stderr.write(program.helpInformation());
      return exitCodes.usage;
    }
    try {
      program.parse(argv, { from: "user" });
    } catch (error) {
      if (error instanceof CommanderError && error.exitCode === 0) return exitCodes.success;
      throw error instanceof CommanderError ? explainUsage(error, program, argv) : error;
    }
    if (chosen === undefined) return exitCodes.success;
    const { flags, action } = chosen;
    const ended = new AbortController();
    const connect: CommandContext["connect"] = async (start) => (await import("./connect.js")).connectTarget(flags, environment, output, start);
    try {
      return await action({ environment, output, connect, signal: ended.signal });
    } finally {
      ended.abort();
    }
  } catch (error) {
    return tell(error, output);
  }
}

function tell(error: unknown, output: Output): number {
  const known = error instanceof Error && !isMarinError(error) ? fileError(error, { action: (error as NodeJS.ErrnoException).syscall ?? "use", path: (error as NodeJS.ErrnoException).path ?? "a file" }) : error;
  const told = isMarinError(known) ? known : new MarinError("IRIS_UNEXPECTED", redactor.redact(known instanceof Error ? known.message : String(known)));
  const exitCode = exitCodeOf(told);
  output.event("error", { code: told.code, message: told.message, exitCode, data: told.data });
  output.note(`${exitCode === exitCodes.interrupted ? "" : "error: "}${told.message}`);
  return exitCode;
}
