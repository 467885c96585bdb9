import { Command, CommanderError, InvalidArgumentError, Option } from "commander";

import { nearest } from "../options/nearest.js";
import { usageError } from "./usage-error.js";

/** The command's arguments. */
export interface CommandArguments {
  readonly experiment: string | undefined;
  readonly list: boolean;
  readonly help: boolean;
  readonly json: boolean;
  readonly verbose: boolean;
  readonly prefix: string;
  readonly experiments: string | undefined;
  readonly set: readonly string[];
  readonly dryRun: boolean;
  /** Undefined: every step. */
  readonly runOnly: readonly string[] | undefined;
  readonly force: readonly string[];
  /** Undefined: as many as the cluster's processors allow. */
  readonly maxConcurrent: number | undefined;
  readonly cluster: string;
}

interface Flags {
  list?: true;
  help?: true;
  json?: true;
  verbose?: true;
  prefix: string;
  experiments?: string;
  set: string[];
  dryRun?: true;
  runOnly?: string[];
  force: string[];
  maxConcurrent?: number;
  cluster: string;
}

function createCommand(): Command {
  return new Command("pnpm experiment")
    .argument("[name]", "the experiment: a script's file name under experiments/, without its ending")
    .option("--list", "name everything that can be run, with a summary")
    .addOption(
      new Option("--set <path=value>", "set an option of the experiment; repeatable")
        .argParser((value: string, all: string[]) => [...all, value])
        .default([], "none"),
    )
    .option("--dry-run", "say what would run, why and where; run and write nothing")
    .addOption(new Option("--run-only <steps>", "run these steps and what they need; names separated by commas, repeatable").argParser(readNames))
    .addOption(new Option("--force <steps>", "run these steps although the store has them; names separated by commas, repeatable").argParser(readNames).default([], "none"))
    .addOption(new Option("--max-concurrent <steps>", "steps that run at the same time at most (default: what the processors allow)").argParser(readCount))
    .option("--cluster <name>", "where steps run: local, or a cluster that clusters/<name>.json describes", "local")
    .option("--prefix <folder>", "where artifacts and checkpoints are kept", ".marin")
    .option("--experiments <folder>", "where the scripts lie (default: the nearest folder named experiments)")
    .option("--json", "print events as JSON lines on standard output, and nothing else there")
    .option("--verbose", "show stack and causes of an error")
    .helpOption(false)
    .option("-h, --help", "show this, or with a name that experiment's options")
    .exitOverride()
    .showSuggestionAfterError(false)
    .configureOutput({ writeErr: () => undefined });
}

function readNames(value: string, before: readonly string[] = []): string[] {
  const names = value.split(",").map((name) => name.trim()).filter((name) => name !== "");
  if (names.length === 0) throw new InvalidArgumentError("name at least one step");
  return [...before, ...names];
}

function readCount(value: string): number {
  const count = Number(value);
  if (!/^\d+$/.test(value.trim()) || count < 1) throw new InvalidArgumentError("a whole number from 1 is needed");
  return count;
}

/** The help on flags, without an experiment's options. */
export function flagHelp(): string {
  return createCommand().helpInformation();
}

/**
 * Reads the arguments that follow `pnpm experiment`.
 *
 * @throws MarinError `MARIN_USAGE` for unknown flags (naming the nearest), missing values and surplus names
 */
export function parseArguments(argv: readonly string[]): CommandArguments {
  const command = createCommand();
  try {
    command.parse(argv, { from: "user" });
  } catch (error) {
    if (error instanceof CommanderError) throw explain(error, command);
    throw error;
  }
  const flags = command.opts<Flags>();
  for (const flag of ["prefix", "experiments", "cluster"] as const) {
    if (flags[flag]?.trim() === "") throw usageError(`--${flag} needs a ${flag === "cluster" ? "name" : "folder"}, got an empty text`, { flag: `--${flag}` });
  }
  return {
    experiment: command.args[0],
    list: flags.list ?? false,
    help: flags.help ?? false,
    json: flags.json ?? false,
    verbose: flags.verbose ?? false,
    prefix: flags.prefix,
    experiments: flags.experiments,
    set: flags.set,
    dryRun: flags.dryRun ?? false,
    runOnly: flags.runOnly,
    force: flags.force,
    maxConcurrent: flags.maxConcurrent,
    cluster: flags.cluster,
  };
}

function explain(error: CommanderError, command: Command): Error {
  const message = error.message.replace(/^error: /, "").replace(" is invalid. ", " is invalid: ");
  if (error.code === "commander.unknownOption") {
    const flag = /'(-[^'=]*)/.exec(message)?.[1] ?? "";
    const flags = command.options.map((option) => option.long ?? option.flags);
    const isPath = flag.includes(".");
    const advice = isPath ? `options of an experiment are given as --set ${flag.replace(/^-+/, "")}=value` : `did you mean ${nearest(flag, flags) ?? "--help"}?`;
    return usageError(`unknown flag ${flag}: ${advice}`, { flag });
  }
  if (error.code === "commander.excessArguments") {
    return usageError(`one experiment a run: got ${command.args.join(" ")}; values are given as --set path.to.option=value`);
  }
  return usageError(`${message}; --help shows every flag`);
}
