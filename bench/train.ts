import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { calibrate, calibrationVoids, type Calibration } from "./calibration.js";
import { compare, lossesDiffer, summarize, type Comparison } from "./comparison.js";
import type { TrainReport } from "./peers/protocol.js";
import { findTorch, PeerError, runPeer } from "./processes.js";
import { writeTrainWorkload, type TrainWorkload } from "./train-workload.js";

/** How the training benchmark measures. */
export interface TrainBenchOptions {
  /** Threads of both sides. */
  readonly threads: number;
  /** Rounds of one process of each side in turn. */
  readonly rounds: number;
  /** Steps of each process that count. */
  readonly steps: number;
  /** Steps of each process that do not, before them. */
  readonly warmup: number;
  /** Whom to compare with. */
  readonly peers: readonly PeerName[];
}

/** Implementations of the same training step. */
export const PEER_NAMES = ["torch", "wasm"] as const;
export type PeerName = (typeof PEER_NAMES)[number];

/** A line of the result: a comparison, or why there is none. */
export type TrainRow = {
  readonly benchmark: "train";
  readonly peer: PeerName;
  readonly threads: number;
} & ({ readonly unmeasured: string } | ({ readonly void: string | null; readonly calibration: Calibration } & Comparison));

/** Eager wasm is an order of magnitude slower: fewer steps, but enough for the losses. */
const WASM_LIMITS = { steps: 4, warmup: 2, rounds: 2 };

/** Compares one training step with each peer, in processes of their own, in turn; `onRow` receives each row when it is known. */
export async function benchTrain(options: TrainBenchOptions, onRow: (row: TrainRow, workload: TrainWorkload) => void): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "marin-bench-"));
  try {
    const workload = await writeTrainWorkload(directory);
    const torch = await findTorch();
    const python = "python" in torch ? torch.python : undefined;
    for (const peer of options.peers) {
      const head = { benchmark: "train", peer, threads: options.threads } as const;
      const reason = peer === "torch" && "reason" in torch ? torch.reason : peer === "wasm" && options.threads > 1 ? "tfjs wasm has one thread in Node" : undefined;
      if (reason !== undefined) {
        onRow({ ...head, unmeasured: reason }, workload);
        continue;
      }
      try {
        onRow({ ...head, ...(await measure(peer, directory, workload, options, python)) }, workload);
      } catch (error) {
        if (!(error instanceof PeerError)) throw error;
        onRow({ ...head, unmeasured: error.message }, workload);
      }
    }
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function measure(
  peer: PeerName, directory: string, workload: TrainWorkload, options: TrainBenchOptions, python: string | undefined,
): Promise<{ void: string | null; calibration: Calibration } & Comparison> {
  const { threads } = options;
  const limit = (key: keyof typeof WASM_LIMITS): number => (peer === "wasm" ? Math.min(options[key], WASM_LIMITS[key]) : options[key]);
  const [steps, warmup, rounds] = [limit("steps"), limit("warmup"), limit("rounds")];
  const own = (count: number): Promise<TrainReport> => runPeer("levanter-train.ts", [directory, "--steps", String(count), "--engine", "onnx"], threads);
  const other = (count: number): Promise<TrainReport> =>
    peer === "torch"
      ? runPeer("torch_train.py", [directory, "--steps", String(count)], threads, python)
      : runPeer("levanter-train.ts", [directory, "--steps", String(count), "--engine", "wasm"], threads);
  const calibration = await calibrate(python);
  const [ownReports, otherReports]: [TrainReport[], TrainReport[]] = [[], []];
  for (let round = 0; round < rounds; round++) {
    ownReports.push(await own(options.warmup + options.steps));
    otherReports.push(await other(warmup + steps));
  }
  const tokens = workload.shape.batch * workload.shape.length;
  const comparison = compare(summarize(ownReports, options.warmup, tokens), summarize(otherReports, warmup, tokens));
  const reason = lossesDiffer(comparison.levanter, comparison.other) ?? calibrationVoids(calibration, threads);
  return { void: reason ?? null, calibration, ...comparison };
}
