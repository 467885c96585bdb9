import { randomBytes } from "node:crypto";
import { basename, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import { type Command, Option } from "commander";
import type { Band, Device, JobSpec } from "../../jobs/job-spec.js";
import type { OnExisting } from "../../client/iris-api.js";
import type { Entry } from "../../platform.js";
import type { Constraint } from "../../scheduling/constraints.js";
import { bytes, constraints, device, duration, fraction, pairs, whole, words } from "../flags.js";
import { usageError } from "../usage.js";

/** The flags that say what to run. */
export interface JobFlags {
  readonly name?: string;
  readonly entry?: string;
  readonly args?: string;
  readonly cpu?: number;
  readonly memory?: number;
  readonly disk?: number;
  readonly device?: Device;
  readonly replicas?: number;
  readonly gang?: string | true;
  readonly band?: Band;
  readonly env?: readonly (readonly [string, string])[];
  readonly passEnv?: readonly string[];
  readonly port?: readonly string[];
  readonly setup?: readonly string[];
  readonly constraint?: readonly Constraint[];
  readonly prefer?: readonly Constraint[];
  readonly tolerate?: readonly string[];
  readonly isolation?: "fresh" | "warm";
  readonly retries?: number;
  readonly preemptionRetries?: number;
  readonly taskFailures?: number;
  readonly timeout?: number;
  readonly schedulingTimeout?: number;
  readonly workspace?: string;
  readonly onExisting: OnExisting;
  readonly submissionId?: string;
  readonly user?: string;
}

/** Adds the flags of a job. */
export function addJobFlags(command: Command): Command {
  return command
    .argument("[command...]", "the program that each task runs, behind --")
    .option("--name <name>", "the job's name: lower-case words (default: from the command, with a random end)")
    .option("--entry <file#export>", "instead of a command: a function, as its module's file and its export")
    .option("--args <json>", "the function's arguments, as a JSON list")
    .addOption(fraction("--cpu <number>", "processors for each task (default: 1)"))
    .addOption(bytes("--memory <size>", "memory for each task, for example 4GiB; more than that ends it (default: unaccounted)"))
    .addOption(bytes("--disk <size>", "disk for each task, for example 20GiB (default: unaccounted)"))
    .addOption(device("--device <kind[:variant][:count]>", "accelerators for each task, for example gpu:h100:8"))
    .addOption(whole("--replicas <number>", "tasks of the job (default: 1)", 1))
    .option("--gang [attribute]", "all tasks at once or none; with an attribute: on workers that share its value")
    .addOption(new Option("--band <band>", "priority (default: INTERACTIVE)").choices(["PRODUCTION", "INTERACTIVE", "BATCH"]))
    .addOption(pairs("--env <name=value>", "a variable of the tasks; repeatable. Others can see a command line: for secrets use --pass-env"))
    .addOption(words("--pass-env <name>", "a variable of this command's own environment to pass on; repeatable"))
    .addOption(words("--port <name>", "a TCP port for each task, which finds its number in IRIS_PORT_<NAME>; repeatable"))
    .addOption(words("--setup <line>", "a shell line that each attempt runs first; repeatable"))
    .addOption(constraints("--constraint <condition>", "what workers must be like: region=eu, generation>=4, !spot; repeatable", false))
    .addOption(constraints("--prefer <condition>", "what workers should rather be like; repeatable", true))
    .addOption(words("--tolerate <taint>", "a taint of workers to put up with; repeatable"))
    .addOption(new Option("--isolation <kind>", "fresh: a process for each attempt; warm: one that has run others").choices(["fresh", "warm"]))
    .addOption(whole("--retries <number>", "starts after a failure of the program (default: 0)"))
    .addOption(whole("--preemption-retries <number>", "starts after the loss of a worker or place (default: 100)"))
    .addOption(whole("--task-failures <number>", "tasks that may fail before the job does (default: 0)"))
    .addOption(duration("--timeout <duration>", "longest run of an attempt, for example 2h (default: no limit)"))
    .addOption(duration("--scheduling-timeout <duration>", "longest wait for room (default: no limit)"))
    .option("--workspace <folder>", "send this folder along: what git would take up, without secrets; tasks run in it")
    .addOption(new Option("--on-existing <what>", "where a job of that name has not ended: refuse, take that one, or end it and start anew").choices(["error", "keep", "recreate"]).default("error"))
    .option("--submission-id <id>", "names this submission: repeating it gives the same job (default: random)")
    .option("--user <name>", "whose job it is (default: yours)");
}

/**
 * The job that the flags and the command describe.
 *
 * @param folder - where relative paths start
 * @throws MarinError IRIS_USAGE
 */
export function jobSpecOf(flags: JobFlags, command: readonly string[], folder: string, variables: Readonly<Record<string, string | undefined>>): JobSpec {
  if (flags.entry === undefined && command.length === 0) throw usageError("name what to run: a command behind --, for example iris run -- python train.py, or --entry train.ts#main");
  if (flags.entry !== undefined && command.length > 0) throw usageError("a job runs a command or an --entry, not both");
  if (flags.args !== undefined && flags.entry === undefined) throw usageError("--args are those of an --entry; a command's own stand behind --");
  const passed = (flags.passEnv ?? []).map((name): readonly [string, string] => {
    const value = variables[name];
    if (value === undefined) throw usageError(`--pass-env ${name}: this command's environment has no such variable`);
    return [name, value];
  });
  const resources = { cpu: flags.cpu, memoryBytes: flags.memory, diskBytes: flags.disk, device: flags.device };
  const conditions = [...(flags.constraint ?? []), ...(flags.prefer ?? [])];
  const spec = {
    name: flags.name ?? defaultName(flags.entry?.split("#")[0] ?? command[0] ?? "job"),
    ...(flags.entry === undefined ? { command } : { entry: entryOf(flags.entry, folder), args: argsOf(flags.args) }),
    resources: defined(resources),
    env: Object.fromEntries([...passed, ...(flags.env ?? [])]),
    ports: flags.port,
    setup: flags.setup,
    replicas: flags.replicas,
    gang: flags.gang === undefined ? undefined : flags.gang === true ? {} : { groupBy: flags.gang },
    band: flags.band,
    constraints: conditions.length === 0 ? undefined : conditions,
    tolerations: flags.tolerate,
    isolation: flags.isolation,
    maxRetriesFailure: flags.retries,
    maxRetriesPreemption: flags.preemptionRetries,
    maxTaskFailures: flags.taskFailures,
    timeoutMs: flags.timeout,
    schedulingTimeoutMs: flags.schedulingTimeout,
  };
  return defined(spec) as unknown as JobSpec;
}

function defined(fields: Readonly<Record<string, unknown>>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined));
}

function entryOf(text: string, folder: string): Entry {
  const [, file, name] = /^(.+)#([^#]+)$/.exec(text) ?? [];
  if (file === undefined || name === undefined) throw usageError(`--entry needs a file and an export, for example train.ts#main, got ${text}`);
  return { module: pathToFileURL(resolve(folder, file)).href, export: name };
}

function argsOf(text: string | undefined): unknown[] {
  if (text === undefined) return [];
  try {
    const args: unknown = JSON.parse(text);
    if (Array.isArray(args)) return args;
  } catch {
    // Told below.
  }
  throw usageError('--args needs a JSON list, for example \'[1, "two"]\'');
}

/** A name that says what runs; the random end keeps two such jobs apart. */
function defaultName(program: string): string {
  const word = basename(program).toLowerCase().replace(/\.[^.]*$/, "").replace(/[^a-z0-9]+/g, "-").replace(/^[^a-z]+|-+$/g, "");
  return `${word === "" ? "job" : word}-x${randomBytes(3).toString("hex")}`;
}
