import { Argument, Command, Option } from "commander";
import { logLevels } from "@marin/rigging";
import type { CommandContext, TargetFlags } from "./context.js";
import { addJobFlags } from "./commands/job-flags.js";
import { defaultDirectory } from "./directory.js";
import { bytes, device, duration, fraction, pairs, whole, words } from "./flags.js";

/** What a command does, once its arguments are read. Loaded when it is called: most of a command line's time would go into loading the others. */
type Action = (context: CommandContext, flags: never, args: readonly unknown[]) => Promise<number>;

/** Takes what was asked for. */
export type Chosen = (flags: TargetFlags, action: (context: CommandContext) => Promise<number>) => void;

/**
 * The command line's grammar.
 *
 * @param choose - told what was asked for
 * @param write - takes the text of --help
 */
export function createProgram(choose: Chosen, write: (text: string) => void): Command {
  const program = new Command("iris")
    .description("Runs jobs: hands them to a controller, and shows what becomes of them.")
    .configureOutput({ writeOut: write, writeErr: () => undefined })
    .showSuggestionAfterError(false)
    .exitOverride();
  const add = (name: string, description: string, action: Action): Command => {
    const command = program
      .command(name)
      .description(description)
      .option("--controller <url>", "the controller's server, for example http://head:7733 (default: IRIS_CONTROLLER, else the one of --dir)")
      .option("--token-file <file>", "file with the token that the controller asks for (default: IRIS_TOKEN_FILE, else the token in IRIS_TOKEN)")
      .option("--dir <folder>", `the controller's directory on this machine (default: IRIS_DIR, else ${defaultDirectory})`)
      .option("--json", "JSON lines on standard output, and nothing else there")
      .action((...given: unknown[]) => {
        const flags = command.opts<TargetFlags>();
        choose(flags, (context) => action(context, flags as never, given.slice(0, -2)));
      });
    return command;
  };

  addJobFlags(add("run", "runs a job, shows what it prints, and ends as it ends (Ctrl-C cancels it)", async (context, flags, [words_]) => (await import("./commands/submit.js")).runCommand(context, flags, words_ as string[])));
  addJobFlags(add("submit", "hands a job over and returns", async (context, flags, [words_]) => (await import("./commands/submit.js")).submitCommand(context, flags, words_ as string[])));
  add("list", "jobs, as a tree", async (context, flags) => (await import("./commands/list.js")).listCommand(context, flags))
    .option("--user <name>", "of this user only")
    .addOption(words("--state <state>", "in this state only, for example RUNNING; repeatable"))
    .option("--prefix <id>", "whose ids begin so")
    .addOption(whole("--limit <number>", "the latest so many", 1).default(100));
  add("describe", "what a job runs, where it stands, and how each attempt ended", async (context, _flags, [job]) => (await import("./commands/describe.js")).describeCommand(context, job as string)).argument("<job>", "its id or uid");
  add("logs", "a job's log", async (context, flags, [job]) => (await import("./commands/logs.js")).logsCommand(context, job as string, flags))
    .argument("<job>", "its id or uid")
    .option("-f, --follow", "go on until the job has ended (Ctrl-C leaves it running)")
    .addOption(whole("--tail <number>", "the last so many lines"))
    .addOption(new Option("--level <level>", "lines that matter at least so much").choices(logLevels))
    .addOption(whole("--task <index>", "of this task only"))
    .option("--contains <text>", "lines with this text only");
  add("stop", "cancels jobs and all below them", async (context, flags, [jobs]) => (await import("./commands/stop.js")).stopCommand(context, jobs as string[], flags))
    .argument("<job...>", "their ids or uids")
    .option("--reason <text>", "why; the job's history tells it")
    .option("--no-wait", "return before they have ended")
    .addOption(duration("--timeout <duration>", "longest wait").default(300_000, "5m"));
  add("exec", "runs a command beside a running task, and gives its exit code", async (context, flags, [job, argv]) => (await import("./commands/exec.js")).execCommand(context, job as string, argv as string[], flags))
    .argument("<job>", "its id or uid")
    .argument("[command...]", "the command, behind --")
    .addOption(whole("--task <index>", "beside this task (default: 0)"))
    .addOption(duration("--timeout <duration>", "longest run (default: no limit)"));
  add("workers", "what each worker has and what of it is used", async (context) => (await import("./commands/cluster.js")).workersCommand(context));
  add("top", "workers and the jobs under way, again and again", async (context, flags) => (await import("./commands/cluster.js")).topCommand(context, flags))
    .addOption(duration("--interval <duration>", "time between two looks").default(2_000, "2s"))
    .addOption(whole("--count <number>", "looks (default: until Ctrl-C)", 1));
  add("bug-report", "writes a job's history, log, workers and versions into a file, without secrets", async (context, flags, [job]) => (await import("./commands/bug-report.js")).bugReportCommand(context, job as string, flags))
    .argument("<job>", "its id or uid")
    .option("--output <file>", "where to write it (default: iris-bug-report-<job>-<time>.json)");
  add("budget", "what users use and may use; with a user and an amount, sets it", async (context, _flags, [user, amount]) => (await import("./commands/cluster.js")).budgetCommand(context, user as string | undefined, amount as string | undefined))
    .argument("[user]", "whose")
    .argument("[amount]", "1000 an accelerator, 5 a processor, 1 a GiB of memory; or none");
  add("query", "asks the controller's database: one SELECT", async (context, flags, [sql]) => (await import("./commands/cluster.js")).queryCommand(context, sql as string, flags))
    .argument("<sql>", "the statement; tables: jobs, tasks, results, submissions, endpoints, budgets")
    .addOption(whole("--max-rows <number>", "rows at most (default: 1000)", 1));
  add("key", "keys by which a controller's server lets others in; works on --dir", async (context, flags, [action, name]) => (await import("./commands/key.js")).keyCommand(context, action as string, name as string | undefined, flags))
    .addArgument(new Argument("<action>", "what to do").choices(["create", "list", "revoke"]))
    .argument("[name]", "create: whom it is for, and whose its jobs are; revoke: the key's id")
    .addOption(words("--scope <scope>", "create: what it may do: jobs:read, jobs:*, cluster:read, cluster:*, workers:join (of a worker), *; repeatable (default: jobs:* cluster:read)"))
    .addOption(duration("--expires <duration>", "create: how long it holds (default: until it is revoked)"));
  add("controller", "runs a controller and its server until it is stopped; jobs go on without it", async (context, flags) => (await import("./commands/controller.js")).controllerCommand(context, flags))
    .option("--host <address>", "address to listen on; one that others reach asks for keys: see iris key", "127.0.0.1")
    .addOption(whole("--port <number>", "port to listen on").default(7733))
    .option("--no-worker", "run no worker on this machine")
    .option("--no-trust-loopback", "ask those on this machine for the token, too")
    .addOption(fraction("--cpus <number>", "processors to give to tasks (default: all)"))
    .addOption(bytes("--memory <size>", "memory to give to tasks (default: all)"))
    .addOption(device("--device <kind[:variant][:count]>", "accelerators to give to tasks (default: none)"));
  add("worker", "gives this machine's resources to a controller elsewhere until it is stopped", async (context, flags) => (await import("./commands/worker.js")).workerCommand(context, flags))
    .option("--name <name>", "the worker's name (default: the machine's)")
    .addOption(fraction("--cpus <number>", "processors to give to tasks (default: all)"))
    .addOption(bytes("--memory <size>", "memory to give to tasks (default: all)"))
    .addOption(bytes("--disk <size>", "disk to give to tasks (default: all that is free)"))
    .addOption(device("--device <kind[:variant][:count]>", "accelerators to give to tasks (default: none)"))
    .addOption(pairs("--attribute <name=value>", "what constraints may ask for; repeatable"))
    .addOption(words("--taint <name>", "keeps away tasks that do not tolerate it; repeatable"))
    .addOption(duration("--orphan-after <duration>", "without a controller for so long it stops its tasks").default(600_000, "10m"))
    .addOption(whole("--warm <number>", "warm processes to start ahead").default(0));
  return program;
}
