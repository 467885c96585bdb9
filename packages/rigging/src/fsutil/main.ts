#!/usr/bin/env node
import { redactor } from "../redaction/redactor.js";
import { interruptedExitCode, runFsutil } from "./program.js";

redactor.addEnvironment(process.env);

// pnpm runs scripts in the workspace root and says where the user was.
const calledIn = process.env["npm_lifecycle_event"] === "fsutil" ? process.env["INIT_CWD"] : undefined;
if (calledIn !== undefined) process.chdir(calledIn);

/** How long the work has to stop by itself after the first signal, in milliseconds. */
const stopWithinMs = 5000;

const stop = new AbortController();
const interrupt = (): void => {
  if (stop.signal.aborted) process.exit(interruptedExitCode);
  stop.abort(new Error("interrupted"));
  setTimeout(() => process.exit(interruptedExitCode), stopWithinMs).unref();
};
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  // Whoever read the output has gone.
  if (error.code === "EPIPE") process.exit(0);
});

process.exitCode = await runFsutil(process.argv.slice(2), { stdout: process.stdout, stderr: process.stderr, interactive: process.stderr.isTTY, signal: stop.signal });
process.off("SIGINT", interrupt);
process.off("SIGTERM", interrupt);
