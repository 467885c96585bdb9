#!/usr/bin/env node
/** The command `iris`. */
import { Console } from "node:console";

const minimumNode = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < minimumNode[0] || (major === minimumNode[0] && minor < minimumNode[1])) {
  process.stderr.write(`error: Node ${minimumNode.join(".")} or newer is needed, this is ${process.versions.node}: install one from nodejs.org\n`);
  process.exit(1);
}

const listeners: (() => void)[] = [];
/** Exit code of a command whose reader went away (`| head`), as of what SIGPIPE ends: never 0, since `run` has then not seen its job's end. */
const readerGone = 141;
let outputClosed = false;
for (const stream of [process.stdout, process.stderr]) {
  stream.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") process.exit(1);
    if (outputClosed) return;
    outputClosed = true;
    // As Ctrl-C: `run` cancels its job and waits for the end.
    const listener = listeners.at(-1);
    if (listener === undefined) process.exit(readerGone);
    listener();
  });
}

// With --json nothing but events may stand on standard output, whatever a library prints.
if (process.argv.includes("--json")) globalThis.console = new Console(process.stderr);

// Imported only now: older versions of Node cannot load the rest.
const { runCommandLine } = await import("./command-line.js");
const byPackageManager = process.env["npm_lifecycle_event"] === "iris";
const interrupt = (): void => {
  const listener = listeners.at(-1);
  if (listener === undefined) process.exit(130);
  listener();
};
process.on("SIGINT", interrupt);
process.on("SIGTERM", interrupt);
const code = await runCommandLine(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  // pnpm runs scripts in the workspace root and says where the user was.
  workingDirectory: (byPackageManager ? process.env["INIT_CWD"] : undefined) ?? process.cwd(),
  variables: process.env,
  interactive: process.stdout.isTTY && process.env["TERM"] !== "dumb",
  onInterrupt: (listener) => {
    listeners.push(listener);
    return () => void listeners.splice(listeners.indexOf(listener), 1);
  },
});
// Everything is written by now.
process.stdout.write("", () => process.stderr.write("", () => process.exit(outputClosed ? readerGone : code)));
