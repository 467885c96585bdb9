import { resolve } from "node:path";
import { pathToFileURL } from "node:url";

import { listenForCrash } from "./crash.js";
import { errorDetails, errorEvent } from "./error-event.js";
import { flagHelp, parseArguments, type CommandArguments } from "./arguments.js";
import { experimentsFolder, findScripts, loadExperiment, loadScript, type ExperimentScript } from "./find-experiments.js";
import { printable } from "./format.js";
import { commandHelp, experimentHelp, experimentHelpEvent } from "./help.js";
import { INTERRUPTED_EXIT_CODE, listenForInterrupt } from "./interrupt.js";
import { createJsonReporter } from "./json-reporter.js";
import { createPlainReporter } from "./plain-reporter.js";
import type { Reporter, ReporterStreams } from "./reporter.js";
import { createTerminalReporter } from "./terminal-reporter.js";
import { usageError } from "./usage-error.js";
import type { ExperimentEvent } from "../events.js";
import type { ExperimentDefinition } from "../experiment-definition.js";
import { resolveOptions } from "../options/resolve.js";
import { failedStep } from "../failed-step.js";
import { planExperiment, runExperiment, type RunOptions } from "../run-experiment.js";

/** What the command needs of the process. */
export interface CommandEnvironment extends ReporterStreams {
  /** Where the user is: relative paths start here. */
  readonly workingDirectory: string;
  /** Whether progress can be drawn on standard error. */
  readonly interactive: boolean;
  readonly color: boolean;
  /** Whether the run ends with the process that started it. */
  readonly watchParent: boolean;
  /** Leaves the process at once. */
  exit(code: number): void;
}

/** Runs `pnpm experiment` with these arguments and returns the exit code: 0, 1 for failures, 2 for wrong usage, 130 when interrupted. */
export async function runCommand(argv: readonly string[], environment: CommandEnvironment): Promise<number> {
  let args: CommandArguments;
  try {
    args = parseArguments(argv);
  } catch (error) {
    return fail(error, { json: argv.includes("--json"), verbose: argv.includes("--verbose"), prefix: "" }, environment);
  }
  const print = (value: unknown, text: string): number => {
    environment.stdout.write(args.json ? `${JSON.stringify(value)}\n` : text);
    return 0;
  };
  const current: Current = { failure: undefined };
  const crash = listenForCrash((error) => {
    const code = fail(error, args, environment, current.failure);
    current.failure?.reporter.close();
    environment.exit(code);
  });
  try {
    if (args.help && args.experiment === undefined) return print({ event: "help", usage: flagHelp() }, commandHelp());
    const folder = args.experiments === undefined ? experimentsFolder(environment.workingDirectory) : resolve(environment.workingDirectory, args.experiments);
    if (args.list) return await list(folder, args, environment);
    if (args.experiment === undefined) throw usageError("name an experiment, or give --list to see them all or --help for the flags");
    const { experiment, script } = await loadExperiment(folder, args.experiment);
    if (experiment === undefined && args.help) {
      const advice = `${script.name} is a program and takes no options: change the values in ${script.file}`;
      return print({ event: "help", program: script.name, summary: script.comment, file: script.file }, `pnpm experiment ${script.name}\n\n${script.comment}\n\n${advice}\n`);
    }
    if (experiment === undefined) return await runProgram(script, args);
    if (args.help) return print(experimentHelpEvent(experiment), experimentHelp(experiment));
    return await run(experiment, script, argv, args, environment, current);
  } catch (error) {
    return fail(error, args, environment);
  } finally {
    crash.close();
  }
}

/** A program has neither options nor steps: it is imported, which runs it. */
async function runProgram({ name, file }: ExperimentScript, { set, dryRun }: CommandArguments): Promise<number> {
  if (dryRun || set.length > 0) throw usageError(`${name} is a program and takes no options: change the values in ${file}`);
  // eslint-disable-next-line marin/computed-import -- the user's own script, named on the command line
  await import(pathToFileURL(file).href);
  return Number(process.exitCode ?? 0);
}

async function run(
  experiment: ExperimentDefinition, script: ExperimentScript, argv: readonly string[], args: CommandArguments, environment: CommandEnvironment, current: Current,
): Promise<number> {
  const options = resolveOptions(experiment.options, args.set);
  const reporter = createReporter(args, environment);
  const running = new Set<string>();
  const leave = (code: number): void => {
    fail(interruption.signal.reason, args, environment, failure);
    reporter.close();
    environment.exit(code);
  };
  const atWork = (): string | undefined => [...running].at(-1);
  let interruptedStep: string | undefined;
  const tellStopping = (): void => {
    interruptedStep = atWork();
    reporter.clear();
    environment.stderr.write("stopping; once more to stop at once\n");
  };
  const interruption = listenForInterrupt(leave, tellStopping, environment.watchParent);
  const failure: Failure = {
    reporter,
    get interrupted() {
      return interruption.signal.aborted;
    },
    get step() {
      return interruptedStep ?? atWork();
    },
  };
  current.failure = failure;
  const onEvent = (event: ExperimentEvent): void => {
    if (event.event === "step-started") running.add(event.step);
    if (event.event === "step-finished") running.delete(event.step);
    // What a step's process prints stays readable where standard output is for events.
    if (event.event === "output" && args.json) environment.stderr.write(`${printable(event.line)}\n`);
    reporter.emit(event);
  };
  const runOptions: RunOptions = {
    prefix: resolve(environment.workingDirectory, args.prefix),
    workingDirectory: environment.workingDirectory,
    module: pathToFileURL(script.file).href,
    cluster: args.cluster,
    runOnly: args.runOnly,
    force: args.force,
    maxConcurrent: args.maxConcurrent,
    commandArguments: argv,
    signal: interruption.signal,
    onEvent,
  };
  try {
    if (args.dryRun) reporter.emit(await planExperiment(experiment, options, runOptions));
    else await runExperiment(experiment, options, runOptions);
    return 0;
  } catch (error) {
    return fail(error, args, environment, failure);
  } finally {
    interruption.close();
    reporter.close();
  }
}

async function list(folder: string, args: CommandArguments, environment: CommandEnvironment): Promise<number> {
  let code = 0;
  for (const script of await findScripts(folder)) {
    try {
      const experiment = await loadScript(script);
      if (experiment === undefined && !script.isProgram) continue;
      const { name } = script;
      const summary = experiment?.summary ?? script.comment;
      const event = { event: script.isProgram ? "program" : "experiment", name, summary, file: script.file };
      environment.stdout.write(args.json ? `${JSON.stringify(event)}\n` : `${`${name.padEnd(20)} ${summary}`.trimEnd()}\n`);
    } catch (error) {
      code = fail(error, args, environment);
    }
  }
  return code;
}

/** How a failure is to be told. */
interface Failure {
  readonly reporter: Reporter;
  readonly interrupted: boolean;
  readonly step: string | undefined;
}

/** The run that a crash ends. */
interface Current {
  failure: Failure | undefined;
}

function fail(error: unknown, args: Pick<CommandArguments, "json" | "verbose" | "prefix">, environment: CommandEnvironment, failure?: Failure): number {
  const reporter = failure?.reporter ?? createReporter(args, environment);
  const place = { interrupted: failure?.interrupted ?? false, current: failure?.step, failed: failedStep(error), prefix: args.prefix };
  const event = errorEvent(error, place);
  reporter.emit(event);
  if (args.json) environment.stderr.write(`${event.code === "MARIN_INTERRUPTED" ? "" : "error: "}${printable(event.message)}\n`);
  if (args.verbose && event.exitCode !== INTERRUPTED_EXIT_CODE) environment.stderr.write(`${printable(errorDetails(error))}\n`);
  return event.exitCode;
}

function createReporter(args: Pick<CommandArguments, "json">, environment: CommandEnvironment): Reporter {
  if (args.json) return createJsonReporter(environment);
  return environment.interactive ? createTerminalReporter(environment, environment.color) : createPlainReporter(environment);
}
