#!/usr/bin/env node
/** The command `pnpm experiment`. */
import { Console } from "node:console";

const MINIMUM_NODE = [20, 19] as const;

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
if (major < MINIMUM_NODE[0] || (major === MINIMUM_NODE[0] && minor < MINIMUM_NODE[1])) {
  process.stderr.write(`error: Node ${MINIMUM_NODE.join(".")} or newer is needed, this is ${process.versions.node}: install one from nodejs.org\n`);
  process.exit(1);
}

// A reader that went away (`| head`) ends the run quietly, with the code of what SIGPIPE ends: it is not done. What is written is kept.
for (const stream of [process.stdout, process.stderr]) stream.on("error", (error: NodeJS.ErrnoException) => process.exit(error.code === "EPIPE" ? 141 : 1));

// With --json nothing but events may stand on standard output, whatever a script or a library prints.
if (process.argv.includes("--json")) globalThis.console = new Console(process.stderr);

// Imported only now: older versions of Node cannot load the rest.
const [{ runCommand }, { redactor }] = await Promise.all([import("./command.js"), import("@marin/rigging")]);
redactor.addEnvironment(process.env);
const byPackageManager = process.env["npm_lifecycle_event"] === "experiment";
const code = await runCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  // pnpm runs scripts in the workspace root and says where the user was.
  workingDirectory: (byPackageManager ? process.env["INIT_CWD"] : undefined) ?? process.cwd(),
  interactive: process.stderr.isTTY && process.env["TERM"] !== "dumb" && process.env["CI"] === undefined,
  color: process.stderr.isTTY && (process.env["NO_COLOR"] ?? "") === "",
  watchParent: byPackageManager,
  exit: (exitCode) => process.exit(exitCode),
});
// Native runtimes may keep threads alive; everything is written by now.
process.stdout.write("", () => process.exit(code));
