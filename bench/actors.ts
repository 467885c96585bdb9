import { parseArgs } from "node:util";
import { calibrate, type Calibration } from "./calibration.js";
import { describeMachine, type Machine } from "./machine.js";
import type { ActorsReport, ActorsWorkload } from "./peers/actors-protocol.js";
import { findPython, PeerError, runPeer } from "./processes.js";
import { median, minimum } from "./statistics.js";
import { align } from "./table.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

/** A library whose calls are measured. */
interface Side {
  readonly summary: string;
  /** The program under `peers/`, and its arguments beside the workload. */
  readonly program: string;
  readonly flags?: readonly string[];
  /** Part of the workload that is measured: the rest would take minutes. */
  readonly share?: number;
  readonly python?: boolean;
}

const SIDES = {
  "fray-thread": { summary: "an actor in a thread", program: "fray-actors.ts", flags: ["--kind", "thread"] },
  comlink: { summary: "comlink: an object in a thread, a call an item where fray streams", program: "comlink-actors.ts" },
  piscina: { summary: "piscina: functions in a pool of one thread; no state, no streams", program: "piscina-actors.ts" },
  "fray-process": { summary: "an actor in a process", program: "fray-actors.ts", flags: ["--kind", "process"] },
  ray: { summary: "Ray of $MARIN_BENCH_PYTHON: an actor in a process; its calls go through an object store that other machines reach", program: "ray_actors.py", share: 0.05, python: true },
} as const satisfies Readonly<Record<string, Side>>;

type SideName = keyof typeof SIDES;
const SIDE_NAMES = Object.keys(SIDES) as readonly SideName[];

const WORKLOAD: ActorsWorkload = { calls: 10_000, callsInFlight: 100_000, items: 50_000, transfers: 1_000 };
const ROUNDS = 5;

/** What is measured, with the factor that makes the number people read. */
const METRICS = [
  { key: "calls", title: "calls/s", factor: 1 },
  { key: "callsInFlight", title: "calls/s, 64 in flight", factor: 1 },
  { key: "items", title: "stream items/s", factor: 1 },
  { key: "transfers", title: "1 MB there and back, MB/s", factor: 2 },
] as const;

type Metric = (typeof METRICS)[number]["key"];

/** Of one metric, over all rounds. */
interface Figure {
  readonly median: number;
  /** The best round: the least disturbed one. */
  readonly best: number;
}

/** A line of the result: what was measured, or why nothing was. */
type Row = { readonly side: SideName } & (
  | { readonly unmeasured: string }
  | { readonly version: string; readonly rounds: number; readonly figures: Readonly<Record<Metric, Figure | null>>; readonly peakBytes: number }
);

interface Result {
  readonly benchmark: "actors";
  readonly machine: Machine;
  readonly calibration: Calibration;
  readonly workload: ActorsWorkload;
  readonly rows: readonly Row[];
}

/** Help for this benchmark. */
export const usage = `Usage: pnpm bench actors [--peers A,B] [--rounds N] [--json]

Calls of an actor, one after the other and 64 at a time, items of a stream, and a buffer of 1 MB there and back, each library in a process of its own, in turn.

Sides (--peers; default: all of them):
${listing(SIDE_NAMES.map((name) => [name, SIDES[name].summary]))}

Options:
  --rounds N  processes of each side (default ${ROUNDS})
  --json      print one JSON object instead of a table (with pnpm --silent: nothing else)

What is not installed is reported as unmeasured, with the reason.`;

/** Measures and gives what is to be printed. */
export async function bench(args: readonly string[]): Promise<string> {
  const { values } = parse(args);
  const sides = values.peers.split(",").map((name) => oneOf("peers", name, SIDE_NAMES));
  const rounds = wholeNumber("rounds", values.rounds, 1);
  const machine = await describeMachine();
  const calibration = await calibrate(undefined);
  const runs = new Map<SideName, ActorsReport[]>();
  const unmeasured = new Map<SideName, string>();
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sides) {
      if (unmeasured.has(side)) continue;
      const report = await measure(SIDES[side]);
      if ("reason" in report) unmeasured.set(side, report.reason);
      else runs.set(side, [...(runs.get(side) ?? []), report]);
    }
  }
  const rows = sides.map((side): Row => {
    const reason = unmeasured.get(side);
    return reason === undefined ? { side, ...summarize(runs.get(side) ?? []) } : { side, unmeasured: reason };
  });
  const result: Result = { benchmark: "actors", machine, calibration, workload: WORKLOAD, rows };
  return values.json ? JSON.stringify(result) : format(result);
}

function parse(args: readonly string[]): { readonly values: { readonly peers: string; readonly rounds: string; readonly json: boolean } } {
  try {
    return parseArgs({
      args: [...args],
      options: { peers: { type: "string", default: SIDE_NAMES.join(",") }, rounds: { type: "string", default: String(ROUNDS) }, json: { type: "boolean", default: false } },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function measure({ program, flags = [], share = 1, python }: Side): Promise<ActorsReport | { readonly reason: string }> {
  const named = process.env["MARIN_BENCH_PYTHON"] ?? "";
  const found = python === true ? await findPython("ray", named === "" ? [] : [named], "set MARIN_BENCH_PYTHON to a Python with ray (bench/README.md)") : undefined;
  if (found !== undefined && "reason" in found) return found;
  const count = (whole: number): string => String(Math.ceil(whole * share));
  const { calls, callsInFlight, items, transfers } = WORKLOAD;
  const workload = ["--calls", count(calls), "--in-flight", count(callsInFlight), "--items", count(items), "--transfers", count(transfers)];
  try {
    return await runPeer<ActorsReport>(program, [...flags, ...workload], 1, found?.python);
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return { reason: error.message };
  }
}

function summarize(reports: readonly ActorsReport[]): Omit<Extract<Row, { readonly version: string }>, "side"> {
  const figure = (key: Metric, factor: number): Figure | null => {
    const times = reports.map((report) => report[key]).filter((rate) => rate !== null).map((rate) => 1 / rate);
    return times.length === 0 ? null : { median: factor / median(times), best: factor / minimum(times) };
  };
  const figures = Object.fromEntries(METRICS.map(({ key, factor }) => [key, figure(key, factor)])) as Record<Metric, Figure | null>;
  return { version: reports[0]?.version ?? "", rounds: reports.length, figures, peakBytes: Math.max(...reports.map(({ peakBytes }) => peakBytes)) };
}

function format({ rows, calibration, machine }: Result): string {
  const measured = rows.filter((row) => "version" in row);
  const cell = (figure: Figure | null): string => (figure === null ? "-" : `${figure.median.toFixed(0)} (${figure.best.toFixed(0)})`);
  return [
    `actors, median (best) of ${Math.max(0, ...measured.map(({ rounds }) => rounds))} rounds`,
    ...align([
      ["", ...METRICS.map(({ title }) => title), "peak memory"],
      ...measured.map(({ version, figures, peakBytes }) => [version, ...METRICS.map(({ key }) => cell(figures[key])), `${(peakBytes / 2 ** 20).toFixed(0)} MiB`]),
    ]),
    ...rows.flatMap((row) => ("unmeasured" in row ? [`  ${row.side} unmeasured: ${row.unmeasured}`] : [])),
    `  calibration, best 2048-cubed product in GFLOP/s with 1 / 2 threads: ${calibration.engine.oneThread.toFixed(0)} / ${calibration.engine.twoThreads.toFixed(0)}; load before the start ${machine.load.toFixed(1)}`,
  ].join("\n");
}
