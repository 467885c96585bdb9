import { mkdtemp, mkdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { DataRow, DataSection } from "./data/row.js";
import { describeMachine, type Machine } from "./machine.js";
import { align } from "./table.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

const SECTIONS: Readonly<Record<string, { readonly about: string; readonly load: () => Promise<DataSection> }>> = {
  jsonl: { about: "200 MB of JSON Lines read, parsed and filtered in one process, beside node:readline and DuckDB", load: () => import("./data/jsonl.js") },
  pipeline: { about: "200 MB of JSON Lines, packed with gzip, filtered and mapped to Parquet, beside DuckDB and datatrove", load: () => import("./data/pipeline.js") },
  workers: { about: "the same plan in this process, by threads and by processes", load: () => import("./data/workers.js") },
  shuffle: { about: "groupBy of 1 GB in 2 million rows, one key having 30 %, in a heap of 256 MB, beside DuckDB with the same limit", load: () => import("./data/shuffle.js") },
};
const SECTION_NAMES = Object.keys(SECTIONS);

interface Result {
  readonly benchmark: "data";
  readonly machine: Machine;
  readonly scale: number;
  readonly rows: readonly DataRow[];
}

/** Help for this benchmark. */
export const usage = `Usage: pnpm bench data [--sections A,B] [--scale X] [--rounds N] [--json]

Data: zephyr and other libraries on the same files, each side in a process of its own, in turn.

Sections (--sections; default: all of them):
${listing(Object.entries(SECTIONS).map(([name, { about }]) => [name, about]))}

Options:
  --scale X   share of the full amount of data (default 1)
  --rounds N  processes of each side (default 3)
  --json      print one JSON object instead of a table (with pnpm --silent: nothing else)

What is not installed is reported as unmeasured, with the reason.`;

/** Measures and gives what is to be printed. */
export async function bench(args: readonly string[]): Promise<string> {
  const { values } = parse(args);
  const sections = values.sections.split(",").map((name) => oneOf("sections", name, SECTION_NAMES));
  const rounds = wholeNumber("rounds", values.rounds, 1);
  const scale = Number(values.scale);
  if (!(scale > 0)) throw new UsageError(`--scale ${values.scale}: must be a number above 0`);
  const machine = await describeMachine();
  const rows: DataRow[] = [];
  const root = await mkdtemp(join(tmpdir(), "marin-bench-data-"));
  try {
    for (const name of sections) {
      const directory = join(root, name);
      await mkdir(directory);
      const section = await SECTIONS[name]?.load();
      rows.push(...((await section?.measure({ scale, rounds, directory })) ?? []));
      await rm(directory, { recursive: true });
    }
  } finally {
    await rm(root, { recursive: true, force: true });
  }
  const result: Result = { benchmark: "data", machine, scale, rows };
  return values.json ? JSON.stringify(result) : format(result);
}

function parse(args: readonly string[]): { readonly values: { readonly sections: string; readonly scale: string; readonly rounds: string; readonly json: boolean } } {
  try {
    return parseArgs({
      args: [...args],
      options: {
        sections: { type: "string", default: SECTION_NAMES.join(",") },
        scale: { type: "string", default: "1" },
        rounds: { type: "string", default: "3" },
        json: { type: "boolean", default: false },
      },
    });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function format({ rows, scale, machine }: Result): string {
  const measured = rows.filter((row) => "megabytes" in row);
  return [
    `data, median of the rounds, scale ${String(scale)}`,
    ...align([
      ["section", "side", "MB", "seconds", "MB/s", "processor", "peak memory", ""],
      ...measured.map((row) => [
        row.section,
        row.side,
        row.megabytes.toFixed(0),
        row.seconds.toFixed(2),
        (row.megabytes / row.seconds).toFixed(0),
        row.cpuSeconds === undefined ? "-" : `${row.cpuSeconds.toFixed(2)} s`,
        row.peakBytes === undefined ? "-" : `${(row.peakBytes / 2 ** 20).toFixed(0)} MiB`,
        row.note ?? "",
      ]),
    ]),
    ...rows.flatMap((row) => ("unmeasured" in row ? [`  ${row.section}, ${row.side} unmeasured: ${row.unmeasured}`] : [])),
    `  load before the start ${machine.load.toFixed(1)}`,
  ].join("\n");
}
