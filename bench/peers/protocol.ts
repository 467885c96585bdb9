import { closeSync, openSync, readFileSync, readSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import type { TrainWorkload } from "../train-workload.js";

/** What a training process prints, as one JSON line. */
export interface TrainReport {
  /** What computed, for people. */
  readonly version: string;
  readonly threads: number;
  /** Mean loss of each step, in nats, before its update. */
  readonly losses: readonly number[];
  readonly stepMilliseconds: readonly number[];
  /** Time to trace and compile, where it is spent before the first step. */
  readonly compileMilliseconds?: number;
  /** True where tracing and compiling happen within the first step. */
  readonly compilesInFirstStep?: boolean;
  /** Of each step, the time in which no compiled program ran. */
  readonly outsideMilliseconds?: readonly number[];
  /** Milliseconds of each step by compiled program. */
  readonly programMilliseconds?: Readonly<Record<string, readonly number[]>>;
  /** Peak resident memory of the process. */
  readonly peakBytes: number;
}

/** What a calibrating process prints, as one JSON line. */
export interface CalibrationReport {
  readonly version: string;
  readonly gflops: number;
}

/** Command line of a training process: `DIRECTORY --steps N --threads N --engine NAME --device NAME`. */
export function trainArguments(): { directory: string; steps: number; threads: number; engine: string; device: string } {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      steps: { type: "string" },
      threads: { type: "string" },
      engine: { type: "string", default: "onnx" },
      device: { type: "string", default: "cpu" },
    },
  });
  return { directory: positionals[0] ?? ".", steps: Number(values.steps), threads: Number(values.threads), engine: values.engine, device: values.device };
}

/** Command line of a calibrating process: `--size N --repeats N --threads N`. */
export function calibrationArguments(): { size: number; repeats: number; threads: number } {
  const { values } = parseArgs({ options: { size: { type: "string" }, repeats: { type: "string" }, threads: { type: "string" } } });
  return { size: Number(values.size), repeats: Number(values.repeats), threads: Number(values.threads) };
}

/** One batch, int32 [B,T] each. */
export interface WorkloadBatch {
  readonly tokens: Int32Array;
  readonly targets: Int32Array;
}

/** A workload read back. */
export interface LoadedWorkload extends TrainWorkload {
  /**
   * The initial values, one parameter at a time so that no second copy of all of them counts as the program's memory: with `reuse`, all in one array, which whoever keeps
   * them copies; otherwise each in its own, which the garbage collector may keep for a while.
   */
  readonly weights: (options?: { readonly reuse: boolean }) => Generator<readonly [name: string, values: Float32Array, shape: readonly number[]]>;
  /** The batch of a step. */
  readonly batch: (step: number) => WorkloadBatch;
}

/** Reads what `writeTrainWorkload` wrote. */
export function loadWorkload(directory: string): LoadedWorkload {
  const workload = JSON.parse(readFileSync(join(directory, "setup.json"), "utf8")) as TrainWorkload;
  const { batch, length } = workload.shape;
  const file = readFileSync(join(directory, "batches.bin"));
  const rows = new Int32Array(file.buffer.slice(file.byteOffset, file.byteOffset + file.byteLength));
  const perBatch = batch * (length + 1);
  return {
    ...workload,
    *weights({ reuse } = { reuse: false }) {
      const sizes = workload.parameters.map(({ shape }) => shape.reduce((product, size) => product * size, 1));
      const bytes = Math.max(...sizes) * Float32Array.BYTES_PER_ELEMENT;
      const memory = new ArrayBuffer(bytes, { maxByteLength: bytes });
      const one = reuse ? new Float32Array(memory) : undefined;
      const stored = openSync(join(directory, "weights.bin"), "r");
      try {
        for (const [place, { name, shape }] of workload.parameters.entries()) {
          const values = one?.subarray(0, sizes[place]) ?? new Float32Array(sizes[place] as number);
          readSync(stored, values);
          yield [name, values, shape];
        }
      } finally {
        closeSync(stored);
        memory.resize(0);
      }
    },
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
export function report(result: object): void {
  process.stdout.write(`${JSON.stringify(result)}\n`);
}
