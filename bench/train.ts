import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { calibrate, calibrationVoids, productPeak, type Calibration } from "./calibration.js";
import { compare, COMPARED_STEPS, lossesDiffer, summarize, type Comparison } from "./comparison.js";
import { BENCH_MODELS, type BenchModel, type BenchModelName, type Repetitions, type WorkloadShape } from "./models.js";
import { findInterpreter, PEERS, preparePeer, type PeerName } from "./peers.js";
import type { TrainReport } from "./peers/protocol.js";
import { PeerError, runPeer } from "./processes.js";
import { sizeOf, writeTrainWorkload, type WorkloadSize } from "./train-workload.js";

/** How the training benchmark measures. What is not given is the model's own. */
export interface TrainBenchOptions {
  readonly model: BenchModelName;
  /** Threads of both sides. */
  readonly threads: number;
  /** Where levanter computes; peers stay on the CPU. */
  readonly device: string;
  /** Whom to compare with. */
  readonly peers: readonly PeerName[];
  readonly rounds?: number | undefined;
  readonly steps?: number | undefined;
  readonly warmup?: number | undefined;
  /** Rows of a batch. */
  readonly batch?: number | undefined;
  /** T, tokens of a row. */
  readonly length?: number | undefined;
}

/** A line of the result: a comparison, or why there is none. */
export type TrainRow = { readonly peer: PeerName } & ({ readonly unmeasured: string } | MeasuredRow);

/** A comparison and what speaks against it. */
export interface MeasuredRow extends Comparison, Repetitions {
  /** Why the sides did not compute the same. Such a row is an error. */
  readonly invalid: string | null;
  /** Why the machine's state forbids drawing conclusions. */
  readonly void: string | null;
  readonly calibration: Calibration;
}

/** The peers whose losses differ from levanter's: with any, the benchmark has failed. */
export function invalidPeers(rows: readonly TrainRow[]): PeerName[] {
  return rows.filter((row) => "invalid" in row && row.invalid !== null).map(({ peer }) => peer);
}

/** The whole result. */
export interface TrainResult {
  readonly model: BenchModelName;
  readonly shape: WorkloadShape;
  readonly size: WorkloadSize;
  readonly threads: number;
  readonly device: string;
  readonly rows: readonly TrainRow[];
}

/** Compares one training step with each peer, in processes of their own, in turn; `onRow` receives each row when it is known. */
export async function benchTrain(options: TrainBenchOptions, onRow: (row: TrainRow, shape: WorkloadShape, size: WorkloadSize) => void): Promise<TrainResult> {
  const { model, threads, device } = options;
  const shape = shapeOf(options);
  const size = sizeOf(shape);
  const directory = await mkdtemp(join(tmpdir(), "marin-bench-"));
  try {
    await writeTrainWorkload(directory, shape);
    const torch = await calibratingPython();
    const rows: TrainRow[] = [];
    for (const peer of options.peers) {
      const row = { peer, ...(await measure(peer, directory, size, options, torch)) };
      rows.push(row);
      onRow(row, shape, size);
    }
    return { model, shape, size, threads, device, rows };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** A Python whose PyTorch measures products: the system's, else the optional set-up's. */
async function calibratingPython(): Promise<string | undefined> {
  for (const setup of ["system", "optional"] as const) {
    const found = await findInterpreter("torch", setup);
    if ("python" in found) return found.python;
  }
  return undefined;
}

/** The model's sizes with those of the command line. */
function shapeOf({ model, batch, length }: TrainBenchOptions): WorkloadShape {
  const { shape }: BenchModel = BENCH_MODELS[model];
  return { ...shape, batch: batch ?? shape.batch, length: length ?? shape.length, positions: Math.max(shape.positions, length ?? 0) };
}

/** How often a peer is measured: what the command line says, at most what the model has for slow peers. */
export function repetitionsOf(peer: PeerName, { model, rounds, steps, warmup }: Pick<TrainBenchOptions, "model" | "rounds" | "steps" | "warmup">): Repetitions {
  const { repetitions, slowRepetitions }: BenchModel = BENCH_MODELS[model];
  const asked = { rounds: rounds ?? repetitions.rounds, steps: steps ?? repetitions.steps, warmup: warmup ?? repetitions.warmup };
  if (!PEERS[peer].slow) return asked;
  const least = (key: keyof Repetitions): number => Math.min(asked[key], slowRepetitions[key]);
  const limited = { rounds: least("rounds"), warmup: least("warmup"), steps: least("steps") };
  return { ...limited, steps: Math.max(limited.steps, COMPARED_STEPS - limited.warmup) };
}

async function measure(
  peer: PeerName, directory: string, size: WorkloadSize, options: TrainBenchOptions, torch: string | undefined,
): Promise<{ readonly unmeasured: string } | MeasuredRow> {
  const { threads, device } = options;
  const prepared = await preparePeer(peer, threads);
  if ("reason" in prepared) return { unmeasured: prepared.reason };
  const repetitions = repetitionsOf(peer, options);
  const { rounds, steps, warmup } = repetitions;
  const own = (): Promise<TrainReport> => runPeer("levanter-train.ts", [directory, "--steps", String(warmup + steps), "--device", device], threads);
  const calibration = await calibrate(torch);
  const [ownReports, otherReports]: [TrainReport[], TrainReport[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ownReports.push(await own());
    try {
      otherReports.push(await prepared.run(directory, warmup + steps));
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      return { unmeasured: error.message };
    }
  }
  const work = { ...size, peakFlops: productPeak(calibration, threads) };
  const comparison = compare(summarize(ownReports, warmup, work), summarize(otherReports, warmup, work));
  const invalid = lossesDiffer(comparison.levanter, comparison.other) ?? null;
  return { invalid, void: calibrationVoids(calibration, threads) ?? null, ...repetitions, calibration, ...comparison };
}
