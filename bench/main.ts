import { parseArgs } from "node:util";
import { formatTrainRow } from "./table.js";
import { benchTrain, PEER_NAMES, type PeerName } from "./train.js";

const USAGE = `Usage: pnpm bench <name> [options]

Benchmarks:
  train   a GPT-2 training step (V 4096, D 256, 4 layers, batch 8 x 128, AdamW) against PyTorch eager and eager tfjs wasm

Options:
  --json          print one JSON object a line instead of tables (with pnpm --silent: nothing else)
  --threads N     threads of both sides (default 1)
  --rounds N      processes of each side, in turn (default 3)
  --steps N       steps of each process that count (default 12)
  --warmup N      steps of each process before them (default 4)
  --peers A,B     whom to compare with (default ${PEER_NAMES.join(",")})
  --list          names of the benchmarks
  --help          this text

PyTorch is looked for in $MARIN_BENCH_PYTHON, python3 and /usr/bin/python3; bench/README.md says how to install it.`;

/** A command line that cannot be followed. */
class UsageError extends Error {}

const OPTIONS = {
  json: { type: "boolean", default: false },
  threads: { type: "string", default: "1" },
  rounds: { type: "string", default: "3" },
  steps: { type: "string", default: "12" },
  warmup: { type: "string", default: "4" },
  peers: { type: "string", default: PEER_NAMES.join(",") },
  list: { type: "boolean", default: false },
  help: { type: "boolean", default: false },
} as const;

async function main(): Promise<void> {
  const { values, positionals } = parseCommandLine();
  if (values.help) return print(USAGE);
  if (values.list) return print("train");
  const [name, ...more] = positionals;
  if (name !== "train" || more.length > 0) throw new UsageError(name === undefined ? "name a benchmark" : `no benchmark "${positionals.join(" ")}"; there is: train`);
  const options = {
    threads: wholeNumber("threads", values.threads, 1),
    rounds: wholeNumber("rounds", values.rounds, 1),
    steps: wholeNumber("steps", values.steps, 1),
    warmup: wholeNumber("warmup", values.warmup, 0),
    peers: values.peers.split(",").map(peerName),
  };
  if (options.steps + options.warmup < 5) throw new UsageError("--steps and --warmup must make 5 or more together: so many losses are compared");
  await benchTrain(options, (row, workload) => print(values.json ? JSON.stringify(row) : `${formatTrainRow(row, workload)}\n`));
}

function parseCommandLine(): ReturnType<typeof parseArgs<{ options: typeof OPTIONS; allowPositionals: true }>> {
  try {
    return parseArgs({ options: OPTIONS, allowPositionals: true });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}

function wholeNumber(option: string, text: string, least: number): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < least) throw new UsageError(`--${option} ${text}: must be a whole number of at least ${least}`);
  return value;
}

function peerName(text: string): PeerName {
  const found = PEER_NAMES.find((name) => name === text);
  if (found === undefined) throw new UsageError(`--peers ${text}: there are ${PEER_NAMES.join(", ")}`);
  return found;
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

try {
  await main();
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`${error.message}\n\n${USAGE}\n`);
  process.exitCode = 2;
}
