import { parseArgs } from "node:util";
import { describeMachine } from "./machine.js";
import { type ControlPlaneRow, benchControlPlane } from "./scheduler/control-plane.js";
import { type JobsRow, benchJobs } from "./scheduler/jobs.js";
import { MIXES } from "./scheduler/mixes.js";
import { type TickRow, benchTicks } from "./scheduler/tick.js";
import { align } from "./table.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

/** What can be measured, by name; each gives rows for `--json` and lines for people. A further one is a line here. */
const SECTIONS = {
  tick: {
    summary: "one decision of the scheduler",
    measure: async ({ tasks, workers, rounds }: Settings) => {
      const rows = benchTicks({ tasks, workers }, rounds);
      return { rows, text: tickText(rows) };
    },
  },
  jobs: {
    summary: "jobs that do nothing: iris on this machine beside Slurm on this machine",
    measure: async ({ jobs }: Settings) => {
      const rows = await benchJobs({ jobs, single: Math.max(4, Math.ceil(jobs / 10)) });
      return { rows, text: jobsText(rows) };
    },
  },
  control: {
    summary: "the controller with waiting tasks, simulated workers and 50 followers; its memory over finished tasks",
    measure: async ({ tasks, workers, finished }: Settings) => {
      const rows = await benchControlPlane({ tasks, workers, finished });
      return { rows, text: controlText(rows) };
    },
  },
} as const satisfies Readonly<Record<string, Section>>;

interface Settings {
  readonly tasks: number;
  readonly workers: number;
  readonly rounds: number;
  readonly jobs: number;
  readonly finished: number;
}

interface Section {
  readonly summary: string;
  readonly measure: (settings: Settings) => Promise<{ readonly rows: readonly object[]; readonly text: string }>;
}

const NAMES = Object.keys(SECTIONS) as (keyof typeof SECTIONS)[];

const OPTIONS = {
  sections: { type: "string", default: NAMES.join(",") },
  tasks: { type: "string", default: "10000" },
  workers: { type: "string", default: "500" },
  rounds: { type: "string", default: "10" },
  jobs: { type: "string", default: "1000" },
  finished: { type: "string", default: "100000" },
  json: { type: "boolean", default: false },
} as const;

/** The command's help. */
export const usage = `Usage: pnpm bench scheduler [options]

Sections (--sections):
${listing(NAMES.map((name) => [name, SECTIONS[name].summary]))}

Mixes of the decision:
${listing(Object.entries(MIXES).map(([name, { summary }]) => [name, summary]))}

Options:
  --sections A,B  default: all of them
  --tasks N       tasks that wait for a decision (default 10000, a multiple of 100)
  --workers N     workers (default 500, a multiple of 10)
  --rounds N      decisions after the first (default 10)
  --jobs N        jobs submitted at once (default 1000)
  --finished N    tasks that end one after the other while memory is watched (default 100000)
  --json          print one JSON object instead of tables (with pnpm --silent: nothing else)
  --help          this text

Slurm is measured where sbatch is on the PATH (infra/local/slurm.sh), else reported as unmeasured.`;

/**
 * Measures the scheduler and the running of jobs.
 *
 * @param args - the command line after the benchmark's name
 * @returns what to print
 * @throws UsageError
 */
export async function bench(args: readonly string[]): Promise<string> {
  const { values } = parse(args);
  const settings: Settings = {
    tasks: multiple("tasks", values.tasks, 100),
    workers: multiple("workers", values.workers, 10),
    rounds: wholeNumber("rounds", values.rounds, 1),
    jobs: wholeNumber("jobs", values.jobs, 1),
    finished: wholeNumber("finished", values.finished, 1),
  };
  const sections = values.sections.split(",").map((name) => oneOf("sections", name, NAMES));
  const machine = await describeMachine();
  const results: Record<string, readonly object[]> = {};
  const texts: string[] = [];
  for (const name of sections) {
    const { rows, text } = await SECTIONS[name].measure(settings);
    results[name] = rows;
    texts.push(`${SECTIONS[name].summary}\n${text}`);
  }
  return values.json ? JSON.stringify({ benchmark: "scheduler", machine, ...results }) : texts.join("\n\n");
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>> {
  try {
    return parseArgs({ args: [...args], options: OPTIONS });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function multiple(option: string, text: string, of: number): number {
  const value = wholeNumber(option, text, of);
  if (value % of !== 0) throw new UsageError(`--${option} ${text}: must be a multiple of ${of}`);
  return value;
}

function tickText(rows: readonly TickRow[]): string {
  const header = ["", "tasks", "workers", "placed", "evicted", "reasons", "first", "median", "least", "processor"];
  const ms = (value: number): string => `${value.toFixed(0)} ms`;
  const cells = rows.map((row) => [
    row.mix,
    String(row.tasks),
    String(row.workers),
    String(row.placed),
    String(row.evicted),
    String(row.reasons),
    ms(row.firstMilliseconds),
    ms(row.medianMilliseconds),
    ms(row.minimumMilliseconds),
    ms(row.cpuMilliseconds),
  ]);
  return align([header, ...cells]).join("\n");
}

function jobsText(rows: readonly JobsRow[]): string {
  const header = ["", "jobs/s", "start, median", "start, p99"];
  const time = (milliseconds: number | undefined): string => (milliseconds === undefined ? "-" : `${milliseconds.toFixed(1)} ms`);
  return [
    ...align([
      header,
      ...rows.flatMap((row) => ("unmeasured" in row ? [] : [[`${row.system}: ${row.what}`, row.jobsPerSecond.toFixed(1), time(row.startMedianMilliseconds), time(row.startP99Milliseconds)]])),
    ]),
    ...rows.flatMap((row) => ("unmeasured" in row ? [`  ${row.system}: unmeasured: ${row.unmeasured}`] : [])),
  ].join("\n");
}

function controlText(rows: readonly ControlPlaneRow[]): string {
  const mib = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;
  return rows
    .map((row) =>
      align([
        ["", "tasks", "workers", "jobs/s taken", "lines/s", "status, median", "status, p99"],
        ["waiting", String(row.tasks), String(row.workers), row.jobsPerSecond.toFixed(0), row.linesPerSecond.toFixed(0), `${row.statusMedianMilliseconds.toFixed(1)} ms`, `${row.statusP99Milliseconds.toFixed(1)} ms`],
      ])
        .concat(align([["", "tasks", "tasks/s", "after a fifth", "after all"], ["finished", String(row.finishedTasks), row.tasksPerSecond.toFixed(0), mib(row.heapEarlyBytes), mib(row.heapLateBytes)]]))
        .join("\n"),
    )
    .join("\n");
}
