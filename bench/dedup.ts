import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { speechDocuments } from "./dedup-documents.js";
import { describeMachine, type Machine } from "./machine.js";
import type { DedupReport } from "./peers/dedup-protocol.js";
import { PeerError, runPeer } from "./processes.js";
import { median, minimum } from "./statistics.js";
import { align } from "./table.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

const ROUNDS = 5;
const BLOOM_OPERATIONS = 1_000_000;

/** A program that does a part of the work. */
interface Side {
  readonly name: string;
  readonly program: string;
  readonly flags: readonly string[];
  /** Whether it runs under the Python of the optional set-up. */
  readonly python?: boolean;
  /** Part of the documents that is measured: the rest would take minutes. */
  readonly share?: number;
}

/** What is measured on all sides, and by which number it is given. */
interface Part {
  readonly title: string;
  readonly unit: "MB/s" | "M/s";
  readonly sides: readonly Side[];
}

const dupekit = (work: string, name = "dupekit"): Side => ({ name, program: "dupekit-dedup.ts", flags: ["--work", work] });
const npm = (work: string, name: string, share?: number): Side => ({ name, program: "npm-dedup.mjs", flags: ["--work", work], ...(share === undefined ? {} : { share }) });
const inPython = (library: string, share: number, name = library, flags: readonly string[] = []): Side => ({ name, program: "dedup_minhash.py", flags: ["--library", library, ...flags], python: true, share });

const SECTIONS = {
  minhash: {
    summary: "signatures of texts: cleaning, shingling and hashing together",
    parts: [
      {
        title: "128 places, 5-word shingles",
        unit: "MB/s",
        sides: [
          dupekit("minhash-32", "dupekit, 32 bits"),
          dupekit("minhash-64", "dupekit, 64 bits"),
          npm("minhash-32", "minhash (npm)", 0.05),
          inPython("datasketch", 0.05, "datasketch, update of each shingle"),
          inPython("datasketch", 0.2, "datasketch, bulk", ["--bulk"]),
          inPython("datasketch", 0.1, "datasketch, bulk, before 2.0", ["--bulk", "--scheme", "legacy"]),
          inPython("rensa", 0.5),
          inPython("datatrove", 0.05),
        ],
      },
      { title: "286 places, 5-character shingles (marin)", unit: "MB/s", sides: [dupekit("minhash-marin", "dupekit, 64 bits")] },
    ],
  },
  bloom: {
    summary: "a filter of a million items at a rate of 0.001: adding, and looking up what is not there",
    parts: [
      { title: "adding hashes of 64 bits", unit: "M/s", sides: [dupekit("bloom-add-hashes")] },
      { title: "looking hashes up", unit: "M/s", sides: [dupekit("bloom-has-hashes")] },
      { title: "adding texts of 25 characters", unit: "M/s", sides: [dupekit("bloom-add-all", "dupekit, all at once"), dupekit("bloom-add", "dupekit, one by one")] },
      { title: "looking texts up", unit: "M/s", sides: [dupekit("bloom-has-all", "dupekit, all at once"), dupekit("bloom-has", "dupekit, one by one")] },
    ],
  },
  hash: {
    summary: "hashes of whole documents, given as text",
    parts: [
      { title: "XXH3, 64 bits", unit: "MB/s", sides: [dupekit("hash-documents-xxh3-64"), npm("hash-documents-xxh3-64", "hash-wasm")] },
      { title: "XXH3, 128 bits", unit: "MB/s", sides: [dupekit("hash-documents-xxh3-128"), npm("hash-documents-xxh3-128", "hash-wasm")] },
      { title: "BLAKE3", unit: "MB/s", sides: [dupekit("hash-documents-blake3"), npm("hash-documents-blake3", "hash-wasm")] },
      { title: "SHA-256, for comparison", unit: "MB/s", sides: [npm("hash-documents-sha256", "node:crypto")] },
    ],
  },
} as const satisfies Readonly<Record<string, { readonly summary: string; readonly parts: readonly Part[] }>>;

type SectionName = keyof typeof SECTIONS;
const SECTION_NAMES = Object.keys(SECTIONS) as readonly SectionName[];

/** A line of the result: what was measured, or why nothing was. */
type Row = { readonly section: SectionName; readonly title: string; readonly side: string } & (
  | { readonly unmeasured: string }
  | { readonly version: string; readonly unit: Part["unit"]; /** Of the median and of the best round. */ readonly median: number; readonly best: number; readonly peakBytes: number }
);

interface Result {
  readonly benchmark: "dedup";
  readonly machine: Machine;
  readonly documents: number;
  readonly bytes: number;
  readonly rows: readonly Row[];
}

/** Help for this benchmark. */
export const usage = `Usage: pnpm bench dedup [--sections A,B] [--rounds N] [--json]

dupekit's kernels beside other libraries, on one core, by processor time. The text is real English in documents of 2 kB (MB of its UTF-8 bytes). Each side runs in processes of its own.

Sections (--sections; default: all of them):
${listing(SECTION_NAMES.map((name) => [name, SECTIONS[name].summary]))}

Options:
  --rounds N  turns of each side (default ${ROUNDS})
  --json      print one JSON object instead of a table (with pnpm --silent: nothing else)

datasketch, rensa and datatrove are looked for in $MARIN_BENCH_PYTHON (bench/README.md). What is not installed is reported as unmeasured, with the reason.`;

/** Measures and gives what is to be printed. */
export async function bench(args: readonly string[]): Promise<string> {
  const values = parse(args);
  const sections = values.sections.split(",").map((name) => oneOf("sections", name, SECTION_NAMES));
  const rounds = wholeNumber("rounds", values.rounds, 1);
  const machine = await describeMachine();
  const documents = await speechDocuments();
  const folder = await mkdtemp(join(tmpdir(), "marin-bench-dedup-"));
  const rows: Row[] = [];
  try {
    for (const section of sections) {
      for (const part of SECTIONS[section].parts) {
        for (const side of part.sides) rows.push({ section, title: part.title, side: side.name, ...(await measure(part, side, { documents, folder, rounds })) });
      }
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  const result: Result = { benchmark: "dedup", machine, documents: documents.length, bytes: bytesOf(documents), rows };
  return values.json ? JSON.stringify(result) : format(result);
}

function parse(args: readonly string[]): { readonly sections: string; readonly rounds: string; readonly json: boolean } {
  try {
    return parseArgs({
      args: [...args],
      options: { sections: { type: "string", default: SECTION_NAMES.join(",") }, rounds: { type: "string", default: String(ROUNDS) }, json: { type: "boolean", default: false } },
    }).values;
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

interface Workload {
  readonly documents: readonly string[];
  readonly folder: string;
  readonly rounds: number;
}

type Measured = { readonly unmeasured: string } | { readonly version: string; readonly unit: Part["unit"]; readonly median: number; readonly best: number; readonly peakBytes: number };

async function measure({ unit }: Part, { program, flags, python, share = 1 }: Side, { documents, folder, rounds }: Workload): Promise<Measured> {
  const interpreter = process.env["MARIN_BENCH_PYTHON"] ?? "";
  if (python === true && interpreter === "") return { unmeasured: "set MARIN_BENCH_PYTHON to a Python that has it (bench/README.md)" };
  const part = documents.slice(0, Math.ceil(documents.length * share));
  const file = join(folder, `documents-${String(share)}.json`);
  await writeFile(file, JSON.stringify(part));
  try {
    const { version, seconds, peakBytes } = await runPeer<DedupReport>(program, [...flags, "--documents", file, "--rounds", String(rounds)], 1, python === true ? interpreter : undefined);
    const amount = (unit === "MB/s" ? bytesOf(part) : BLOOM_OPERATIONS) / 1e6;
    return { version, unit, median: amount / median(seconds), best: amount / minimum(seconds), peakBytes };
  } catch (error) {
    if (!(error instanceof PeerError)) throw error;
    return { unmeasured: error.message };
  }
}

function bytesOf(documents: readonly string[]): number {
  return documents.reduce((sum, text) => sum + Buffer.byteLength(text), 0);
}

function format({ rows, documents, bytes, machine }: Result): string {
  return [
    `dedup: ${documents} documents, ${(bytes / 1e6).toFixed(1)} MB`,
    ...align([
      ["", "side", "median", "best", "", "peak memory"],
      ...rows.flatMap((row) =>
        "unmeasured" in row ? [] : [[`${row.section}: ${row.title}`, row.side, row.median.toPrecision(3), row.best.toPrecision(3), row.unit, `${(row.peakBytes / 2 ** 20).toFixed(0)} MiB`]],
      ),
    ]),
    ...rows.flatMap((row) => ("unmeasured" in row ? [`  ${row.section}: ${row.title}, ${row.side} unmeasured: ${row.unmeasured}`] : [])),
    `  load before the start ${machine.load.toFixed(1)}`,
  ].join("\n");
}
