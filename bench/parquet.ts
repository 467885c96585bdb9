import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { describeMachine, type Machine } from "./machine.js";
import type { ParquetReport } from "./parquet/protocol.js";
import { SIDE_NAMES, type SideName, SIDES } from "./parquet/sides.js";
import { PeerError, runPeer } from "./processes.js";
import { median, minimum } from "./statistics.js";
import { align } from "./table.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

const PHASES = {
  read: "every column of a zstd file as JavaScript rows",
  columns: "two of its ten columns",
  write: "JavaScript rows to a zstd file",
} as const;
type Phase = keyof typeof PHASES;
const PHASE_NAMES = Object.keys(PHASES) as readonly Phase[];

const [MEGABYTES, ROUNDS, REPEATS] = [60, 5, 3];

/** Of one phase, over all rounds, in MB of text a second. */
interface Figure {
  readonly median: number;
  /** The best round: the least disturbed one. */
  readonly best: number;
  /** By processor time, all threads together: the best round. */
  readonly perCpu: number;
  readonly peakBytes: number;
  readonly fileBytes?: number;
}

/** A line of the result: what was measured, or why nothing was. */
type Row = { readonly phase: Phase; readonly side: SideName } & ({ readonly unmeasured: string } | { readonly version: string; readonly rounds: number; readonly figure: Figure });

interface Result {
  readonly benchmark: "parquet";
  readonly machine: Machine;
  readonly megabytes: number;
  readonly rows: readonly Row[];
}

/** Help for this benchmark. */
export const usage = `Usage: pnpm bench parquet [--phases A,B] [--peers A,B] [--rounds N] [--megabytes N] [--json]

Parquet read into JavaScript rows and written from them: English text in documents of 2 kB and nine short columns, zstd. Each library in a process of its own, in turn.

Phases (--phases; default: all of them):
${listing(PHASE_NAMES.map((name) => [name, PHASES[name]]))}

Sides (--peers; default: all of them):
${listing(SIDE_NAMES.map((name) => [name, SIDES[name].summary]))}

Options:
  --rounds N     processes of each side (default ${String(ROUNDS)}), ${String(REPEATS)} repetitions in each after one to warm up
  --megabytes N  of text (default ${String(MEGABYTES)})
  --json         print one JSON object instead of tables (with pnpm --silent: nothing else)

What is not installed is reported as unmeasured, with the reason.`;

/** Measures and gives what is to be printed. */
export async function bench(args: readonly string[]): Promise<string> {
  const { values } = parse(args);
  const phases = values.phases.split(",").map((name) => oneOf("phases", name, PHASE_NAMES));
  const sides = values.peers.split(",").map((name) => oneOf("peers", name, SIDE_NAMES));
  const [rounds, megabytes] = [wholeNumber("rounds", values.rounds, 1), wholeNumber("megabytes", values.megabytes, 1)];
  const machine = await describeMachine();
  const directory = await mkdtemp(join(tmpdir(), "marin-bench-parquet-"));
  try {
    const path = join(directory, "rows.parquet");
    await runPeer("parquet-files.ts", ["--path", path, "--megabytes", String(megabytes)], 1);
    const rows: Row[] = [];
    for (const phase of phases) rows.push(...(await measurePhase(phase, { sides, rounds, megabytes, path, directory })));
    const result: Result = { benchmark: "parquet", machine, megabytes, rows };
    return values.json ? JSON.stringify(result) : format(result);
  } finally {
    await rm(directory, { recursive: true });
  }
}

function parse(args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options: {
        phases: { type: "string", default: PHASE_NAMES.join(",") },
        peers: { type: "string", default: SIDE_NAMES.join(",") },
        rounds: { type: "string", default: String(ROUNDS) },
        megabytes: { type: "string", default: String(MEGABYTES) },
        json: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

async function measurePhase(
  phase: Phase,
  { sides, rounds, megabytes, path, directory }: { readonly sides: readonly SideName[]; readonly rounds: number; readonly megabytes: number; readonly path: string; readonly directory: string },
): Promise<Row[]> {
  const runs = new Map<SideName, ParquetReport[]>();
  const unmeasured = new Map<SideName, string>();
  for (let round = 0; round < rounds; round += 1) {
    for (const side of sides) {
      if (unmeasured.has(side)) continue;
      try {
        const target = phase === "write" ? join(directory, `${side}.parquet`) : path;
        const report = await runPeer<ParquetReport>("parquet-peer.ts", ["--side", side, "--phase", phase, "--path", target, "--megabytes", String(megabytes), "--repeats", String(REPEATS)], 1);
        if (report.times.length === 0) unmeasured.set(side, `${report.version} cannot do this`);
        else runs.set(side, [...(runs.get(side) ?? []), report]);
      } catch (error) {
        if (!(error instanceof PeerError)) throw error;
        unmeasured.set(side, error.message);
      }
    }
  }
  const seen = new Set([...runs.values()].flat().map((report) => report.seen));
  if (seen.size > 1) throw new PeerError(`the sides did not read the same: ${[...seen].join(", ")}`);
  return sides.map((side): Row => {
    const reason = unmeasured.get(side);
    return reason === undefined ? { phase, side, ...summarize(runs.get(side) ?? [], megabytes) } : { phase, side, unmeasured: reason };
  });
}

function summarize(reports: readonly ParquetReport[], megabytes: number): { readonly version: string; readonly rounds: number; readonly figure: Figure } {
  const best = reports.map(({ times }) => minimum(times.map(({ seconds }) => seconds)));
  const cpu = reports.map(({ times }) => minimum(times.map(({ cpuSeconds }) => cpuSeconds)));
  const [first] = reports;
  return {
    version: first?.version ?? "",
    rounds: reports.length,
    figure: {
      median: megabytes / median(best),
      best: megabytes / minimum(best),
      perCpu: megabytes / minimum(cpu),
      peakBytes: Math.max(...reports.map(({ peakBytes }) => peakBytes ?? 0)),
      ...(first?.bytes === undefined ? {} : { fileBytes: first.bytes }),
    },
  };
}

function format({ rows, machine, megabytes }: Result): string {
  const sections = PHASE_NAMES.flatMap((phase) => {
    const measured = rows.flatMap((row) => (row.phase === phase && "version" in row ? [row] : []));
    if (measured.length === 0) return [];
    const reference = measured.find(({ side }) => side === "duckdb")?.figure;
    const ratio = (value: number, to: number | undefined): string => (to === undefined ? "-" : (value / to).toFixed(2));
    return [
      `${phase}: ${PHASES[phase]}`,
      ...align([
        ["", "MB/s, median", "best", "of DuckDB's", "MB/s of processor time", "of DuckDB's", "peak memory", "file"],
        ...measured.map(({ version, figure }) => [
          version,
          figure.median.toFixed(0),
          figure.best.toFixed(0),
          ratio(figure.median, reference?.median),
          figure.perCpu.toFixed(0),
          ratio(figure.perCpu, reference?.perCpu),
          `${(figure.peakBytes / 2 ** 20).toFixed(0)} MiB`,
          figure.fileBytes === undefined ? "" : `${(figure.fileBytes / 1e6).toFixed(1)} MB`,
        ]),
      ]),
      ...rows.flatMap((row) => (row.phase === phase && "unmeasured" in row ? [`  ${row.side} unmeasured: ${row.unmeasured}`] : [])),
      "",
    ];
  });
  return [`parquet, ${String(megabytes)} MB of text`, "", ...sections, `load before the start ${machine.load.toFixed(1)}`].join("\n");
}
