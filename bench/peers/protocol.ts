import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { TrainWorkload } from "../train-workload.js";

/** What a training process prints, as one JSON line. */
export interface TrainReport {
  /** What computed, for people. */
  readonly version: string;
  readonly threads: number;
  /** Mean loss of each step, in nats, before its update. */
  readonly losses: number[];
  readonly stepMilliseconds: number[];
  /** Peak resident memory of the process. */
  readonly peakBytes: number;
}

/** What a calibrating process prints, as one JSON line. */
export interface CalibrationReport {
  readonly version: string;
  readonly gflops: number;
}

/** Command line of a training process: `DIRECTORY --steps N --threads N --engine NAME`. */
export function trainArguments(): { directory: string; steps: number; threads: number; engine: string } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: { steps: { type: "string" }, threads: { type: "string" }, engine: { type: "string", default: "onnx" } },
  });
  return { directory: positionals[0] ?? ".", steps: Number(values.steps), threads: Number(values.threads), engine: values.engine };
}

/** Command line of a calibrating process: `--size N --repeats N --threads N`. */
export function calibrationArguments(): { size: number; repeats: number; threads: number } {
  const { values } = parseArgs({ options: { size: { type: "string" }, repeats: { type: "string" }, threads: { type: "string" } } });
  return { size: Number(values.size), repeats: Number(values.repeats), threads: Number(values.threads) };
}

/** A workload read back, with its initial weights by name and its batches. */
export interface LoadedWorkload extends TrainWorkload {
  readonly weights: Record<string, Float32Array>;
  /** The batch of a step: tokens and targets, int32 [B,T]. */
  readonly batch: (step: number) => { tokens: Int32Array; targets: Int32Array };
}

/** Reads what `writeTrainWorkload` wrote. */
export function loadWorkload(directory: string): LoadedWorkload {
  const workload = JSON.parse(readFileSync(join(directory, "setup.json"), "utf8")) as TrainWorkload;
  const stored = readFileSync(join(directory, "weights.bin"));
  const weights: Record<string, Float32Array> = {};
  let offset = 0;
  for (const { name, shape } of workload.parameters) {
    const count = shape.reduce((product, size) => product * size, 1);
    weights[name] = new Float32Array(stored.buffer.slice(stored.byteOffset + offset, stored.byteOffset + offset + count * 4));
    offset += count * 4;
  }
  const { batch, length } = workload.shape;
  const file = readFileSync(join(directory, "batches.bin"));
  const rows = new Int32Array(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength));
  const perBatch = batch * (length + 1);
  return {
    ...workload,
    weights,
    batch: (step) => {
      const start = (step % (rows.length / perBatch)) * perBatch;
      const [tokens, targets] = [new Int32Array(batch * length), new Int32Array(batch * length)];
      for (let row = 0; row < batch; row++) {
        const from = start + row * (length + 1);
        tokens.set(rows.subarray(from, from + length), row * length);
        targets.set(rows.subarray(from + 1, from + length + 1), row * length);
      }
      return { tokens, targets };
    },
  };
}

/** Peak resident memory of this process: the kernel's high-water mark where there is one. */
export function peakBytes(): number {
  try {
    const mark = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync("/proc/self/status", "utf8"));
    if (mark !== null) return Number(mark[1]) * 1024;
  } catch {
    // No /proc on this system.
  }
  return process.resourceUsage().maxRSS * 1024;
}

/** Prints a report for the benchmark to read. */
export function report(result: TrainReport | CalibrationReport): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
