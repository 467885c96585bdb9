import { parseArgs } from "node:util";
import { COMPARED_STEPS } from "./comparison.js";
import { benchExplain } from "./explain.js";
import { describeMachine } from "./machine.js";
import { BENCH_MODEL_NAMES, BENCH_MODELS, type BenchModelName } from "./models.js";
import { PEER_NAMES, PEERS, type PeerName } from "./peers.js";
import { PeerError } from "./processes.js";
import { formatTrainRow, formatWorkload } from "./table.js";
import { benchTrain, invalidPeers, repetitionsOf, type TrainBenchOptions } from "./train.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

const OPTIONS = {
  model: { type: "string", default: "tutorial" },
  peers: { type: "string", default: PEER_NAMES.join(",") },
  threads: { type: "string", default: "1" },
  rounds: { type: "string" },
  steps: { type: "string" },
  warmup: { type: "string" },
  batch: { type: "string" },
  length: { type: "string" },
  device: { type: "string", default: "cpu" },
  top: { type: "string", default: "20" },
  json: { type: "boolean", default: false },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

/** Benchmarks that read the rest of the command line themselves: `bench` gives what is to be printed, `usage` their help. */
const OTHERS: Readonly<Record<string, () => Promise<{ readonly bench: (args: readonly string[]) => Promise<string>; readonly usage: string }>>> = {
  actors: () => import("./actors.js"),
  data: () => import("./data.js"),
  dedup: () => import("./dedup.js"),
  parquet: () => import("./parquet.js"),
  rpc: () => import("./rpc.js"),
  scheduler: () => import("./scheduler.js"),
};

const BENCHMARKS = ["train", "explain", ...Object.keys(OTHERS)];
const DEVICES = ["cpu", "webgpu", "cuda"];

function usage(): string {
  return `Usage: pnpm bench train [options]
       pnpm bench explain [--model NAME] [--threads N] [--top N]
       pnpm bench ${Object.keys(OTHERS).join("|")} --help

train: one training step (forward, backward, clipping, AdamW) of levanter's compiled engine against other implementations of the same step.
explain: the operations of the compiled gradient program, with FLOPs, bytes and measured times.

Models (--model):
${listing(BENCH_MODEL_NAMES.map((name) => [name, BENCH_MODELS[name].summary]))}

Peers (--peers):
${listing(PEER_NAMES.map((name) => [name, PEERS[name].summary]))}

Options:
  --model NAME    default tutorial
  --peers A,B     default: all of them
  --threads N     threads of both sides (default 1)
  --rounds N      processes of each side, in turn (default: the model's; slow peers take fewer)
  --steps N       steps of each process that count (likewise)
  --warmup N      steps of each process before them (likewise)
  --batch N       rows of a batch instead of the model's
  --length N      tokens of a row instead of the model's
  --device NAME   where levanter computes: ${DEVICES.join(", ")} (default cpu); the peers stay on the CPU
  --top N         operations that explain lists (default 20)
  --json          print one JSON object instead of tables (with pnpm --silent: nothing else)
  --list          names of the benchmarks
  --help          this text

Exit status: 0; 1 when the losses of a row differ or levanter failed; 2 for a wrong command line. What cannot be run is reported as unmeasured, with the reason.
bench/README.md says how to install the peers.`;
}

async function main(): Promise<void> {
  const [first = "", ...rest] = process.argv.slice(2);
  const other = Object.hasOwn(OTHERS, first) ? await OTHERS[first]?.() : undefined;
  if (other !== undefined) return benchOther(other, rest);
  const { values, positionals } = parseCommandLine();
  if (values.help) return print(usage());
  if (values.list) return print(BENCHMARKS.join("\n"));
  const [name, ...more] = positionals;
  if (name === undefined) throw new UsageError("name a benchmark");
  if (!BENCHMARKS.includes(name) || more.length > 0) throw new UsageError(`no benchmark "${positionals.join(" ")}"; there are ${BENCHMARKS.join(", ")}`);
  const model = oneOf("model", values.model, BENCH_MODEL_NAMES) as BenchModelName;
  const threads = wholeNumber("threads", values.threads, 1);
  if (name === "explain") return print(await benchExplain({ model, threads, top: wholeNumber("top", values.top, 1) }));
  const options: TrainBenchOptions = {
    model,
    peers: values.peers.split(",").map((peer) => oneOf("peers", peer, PEER_NAMES) as PeerName),
    threads,
    device: oneOf("device", values.device, DEVICES),
    rounds: optionalNumber("rounds", values.rounds, 1),
    steps: optionalNumber("steps", values.steps, 1),
    warmup: optionalNumber("warmup", values.warmup, 0),
    batch: optionalNumber("batch", values.batch, 1),
    length: optionalNumber("length", values.length, 1),
  };
  for (const peer of options.peers) {
    const { steps, warmup } = repetitionsOf(peer, options);
    if (steps + warmup < COMPARED_STEPS) throw new UsageError(`--steps and --warmup must make ${COMPARED_STEPS} or more together: so many losses are compared`);
  }
  const machine = await describeMachine();
  let headed = false;
  const result = await benchTrain(options, (row, shape, size) => {
    if (values.json) return;
    if (!headed) print(`${formatWorkload(options.model, shape, size)}\n`);
    headed = true;
    print(`${formatTrainRow(row)}\n`);
  });
  if (values.json) print(JSON.stringify({ benchmark: "train", machine, ...result }));
  const invalid = invalidPeers(result.rows);
  if (invalid.length > 0) fail(`invalid: ${invalid.join(", ")}: the losses differ from levanter's`, 1);
}

async function benchOther({ bench, usage: text }: Awaited<ReturnType<(typeof OTHERS)[string]>>, args: readonly string[]): Promise<void> {
  if (args.includes("--help")) return print(text);
  try {
    print(await bench(args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    fail(`${error.message}\n\n${text}`, 2);
  }
}

function parseCommandLine(): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function optionalNumber(option: string, text: string | undefined, least: number): number | undefined {
  return text === undefined ? undefined : wholeNumber(option, text, least);
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

function fail(message: string, status: number): void {
  process.stderr.write(`${message}\n`);
  process.exitCode = status;
}

try {
  await main();
} catch (error) {
  if (error instanceof UsageError) fail(`${error.message}\n\n${usage()}`, 2);
  // A peer's own failure is a row; this is levanter's.
  else if (error instanceof PeerError) fail(error.message, 1);
  else throw error;
}
