import { isMarinError } from "@marin/ducky";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { escapeControls } from "../escape.js";
import { toPlain } from "../redaction/plain.js";
import { redactor } from "../redaction/redactor.js";
import { createStorage } from "../storage/create.js";
import type { Storage } from "../storage/storage.js";
import * as commands from "./commands.js";
import { copyAll } from "./copy.js";
import { type FsutilEnvironment, Terminal } from "./terminal.js";

/** Exit code of a command that the user stopped. */
export const interruptedExitCode = 130;

/**
 * Runs `fsutil` with these arguments.
 *
 * @returns the exit code: 0, 1 for failures, 2 for wrong usage, 130 when stopped
 */
export async function runFsutil(argv: readonly string[], environment: FsutilEnvironment, storage: Storage = createStorage()): Promise<number> {
  const json = argv.includes("--json");
  const terminal = new Terminal(environment, json);
  try {
    await program({ storage, terminal, signal: environment.signal }, environment).parseAsync([...argv], { from: "user" });
    return 0;
  } catch (error) {
    terminal.clear();
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    // Whoever reads the output may stop, as `head` does; that is no failure.
    if ((error as NodeJS.ErrnoException).code === "EPIPE") return 0;
    return fail(error, json, environment);
  } finally {
    terminal.clear();
  }
}

function fail(error: unknown, json: boolean, { stdout, stderr, signal }: FsutilEnvironment): number {
  const interrupted = signal.aborted;
  const message = redactor.redact(interrupted ? "interrupted" : error instanceof Error ? error.message : String(error));
  const code = interrupted ? "RIGGING_INTERRUPTED" : isMarinError(error) ? error.code : "RIGGING_UNEXPECTED";
  if (json) stdout.write(`${JSON.stringify({ error: { code, message, data: interrupted || !isMarinError(error) ? {} : toPlain(error.data, redactor) } })}\n`);
  stderr.write(`${interrupted ? "" : "error: "}${escapeControls(message)}\n`);
  return interrupted ? interruptedExitCode : 1;
}

function program(context: commands.CommandContext, { stdout, stderr }: FsutilEnvironment): Command {
  const root = new Command("fsutil")
    .description("Files, wherever they lie: paths of this disk, gs://, s3://, https://, hf:// and the others.")
    .exitOverride()
    .configureOutput({ writeOut: (text) => void stdout.write(text), writeErr: (text) => void stderr.write(text) })
    .showHelpAfterError("(--help shows what there is)");
  const command = (name: string, description: string): Command =>
    root.command(name).description(description).option("--json", "results as JSON, one a line; nothing else on standard output").exitOverride();

  command("ls", "what lies in a directory")
    .argument("<path...>", "objects, directories or patterns")
    .option("-r, --recursive", "all objects below, not only the first level", false)
    .option("-l, --long", "sizes too", false)
    .action((paths: string[], options: { recursive: boolean; long: boolean }) => commands.list(context, paths, options));
  command("du", "how much objects take")
    .argument("<path...>", "objects, directories or patterns")
    .option("-d, --depth <levels>", "sums of directories below, down to so many levels", wholeNumber, 0)
    .action((paths: string[], options: { depth: number }) => commands.diskUsage(context, paths, options));
  command("cp", "copies objects and reads the copies back, comparing SHA-256")
    .usage("[options] <from...> <to>")
    .argument("<paths...>", "objects, patterns, or with -r directories; last the copy's path, or a directory (ending in / where it is not there yet)")
    .option("-r, --recursive", "directories, with all below them", false)
    .option("-f, --force", "replace what is there", false)
    .action((paths: string[], options: { recursive: boolean; force: boolean }, self: Command) => {
      const [to, ...from] = paths.toReversed();
      if (to === undefined || from.length === 0) self.error("error: missing argument 'to'");
      return copyAll(context.storage, from.reverse(), to, { ...options, signal: context.signal }, context.terminal);
    });
  command("cat", "writes objects to standard output")
    .argument("<path...>", "objects or patterns")
    .option("--start <byte>", "the first byte", wholeNumber)
    .option("--end <byte>", "the byte to stop before", wholeNumber)
    .action((paths: string[], { start, end }: { start?: number; end?: number }) => commands.concatenate(context, paths, { ...(start === undefined ? {} : { start }), ...(end === undefined ? {} : { end }) }));
  command("hash", "hashes objects, as sha256sum does")
    .argument("<path...>", "objects, directories or patterns")
    .addOption(new Option("-a, --algorithm <name>", "which hash").choices(["sha256", "sha512", "sha1", "md5"]).default("sha256"))
    .action((paths: string[], options: { algorithm: string }) => commands.hash(context, paths, options));
  command("rm", "removes objects")
    .argument("<path...>", "objects, patterns, or with -r directories")
    .option("-r, --recursive", "directories, with all below them", false)
    .option("-f, --force", "what is not there is no failure", false)
    .option("-n, --dry-run", "only say what would be removed", false)
    .action((paths: string[], options: { recursive: boolean; force: boolean; dryRun: boolean }) => commands.remove(context, paths, options));
  command("stat", "what is known of objects without reading them")
    .argument("<path...>", "objects, directories or patterns")
    .action((paths: string[]) => commands.describe(context, paths));
  return root;
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It must be a whole number.");
  return Number(text);
}
