/** The command `pnpm serve`. */
import { listenForInterrupt } from "../cli/interrupt.js";
import { serveCommand } from "./serve-command.js";

const byPackageManager = process.env["npm_lifecycle_event"] === "serve";
const interruption = listenForInterrupt(
  (code) => process.exit(code),
  () => process.stderr.write("stopping: requests that run have a moment to end; once more to stop at once\n"),
  byPackageManager,
);
const code = await serveCommand(process.argv.slice(2), {
  stdout: process.stdout,
  stderr: process.stderr,
  // pnpm runs scripts in the workspace root and says where the user was.
  workingDirectory: (byPackageManager ? process.env["INIT_CWD"] : undefined) ?? process.cwd(),
  signal: interruption.signal,
});
interruption.close();
process.exitCode = code;
