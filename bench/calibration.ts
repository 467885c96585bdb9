import type { CalibrationReport } from "./peers/protocol.js";
import { runPeer } from "./processes.js";

/** Edge of the square matrices multiplied. */
const SIZE = 2048;
const REPEATS = 5;

/** Two threads that are not this much faster than one are not two free cores: what is measured on them is void. */
export const MINIMUM_SCALING = 1.6;

/** Speed of a matrix product with one and with two threads, in GFLOP/s. */
export interface ProductSpeed {
  readonly oneThread: number;
  readonly twoThreads: number;
}

/** Speed of the best 2048-cubed product right before a measurement: what the machine gave at that time. */
export interface Calibration {
  readonly engine: ProductSpeed;
  /** Absent where PyTorch is. */
  readonly torch?: ProductSpeed;
}

/** Measures the best product with one and two threads by the compiled engine and, where there is a Python for it, by PyTorch. */
export async function calibrate(python: string | undefined): Promise<Calibration> {
  const measure = async (file: string, threads: number, interpreter?: string): Promise<number> => {
    const { gflops } = await runPeer<CalibrationReport>(file, ["--size", String(SIZE), "--repeats", String(REPEATS)], threads, interpreter);
    return gflops;
  };
  const engine = { oneThread: await measure("levanter-calibrate.ts", 1), twoThreads: await measure("levanter-calibrate.ts", 2) };
  if (python === undefined) return { engine };
  return { engine, torch: { oneThread: await measure("torch_calibrate.py", 1, python), twoThreads: await measure("torch_calibrate.py", 2, python) } };
}

/** The best product of all, in FLOP/s, with so many threads; undefined for other numbers of threads than one and two. */
export function productPeak({ engine, torch }: Calibration, threads: number): number | undefined {
  if (threads !== 1 && threads !== 2) return undefined;
  const speeds = [engine, torch ?? engine].map(({ oneThread, twoThreads }) => (threads === 1 ? oneThread : twoThreads));
  return Math.max(...speeds) * 1e9;
}

/** Why a measurement with this many threads cannot count, or nothing. */
export function calibrationVoids({ engine, torch }: Calibration, threads: number): string | undefined {
  if (threads < 2) return undefined;
  for (const [name, speed] of Object.entries({ engine, torch })) {
    if (speed === undefined) continue;
    const scaling = speed.twoThreads / speed.oneThread;
    if (!(scaling >= MINIMUM_SCALING)) return `two threads multiply only ${scaling.toFixed(2)} times as fast as one (${name}); below ${MINIMUM_SCALING} the machine is not idle`;
  }
  return undefined;
}
