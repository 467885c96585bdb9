import type { Calibration } from "./calibration.js";
import type { TrainRow } from "./train.js";
import type { TrainWorkload } from "./train-workload.js";

const MIB = 2 ** 20;

/** One row for people, several lines. */
export function formatTrainRow(row: TrainRow, { shape }: TrainWorkload): string {
  const title = `train, ${row.threads} thread${row.threads === 1 ? "" : "s"}, against ${row.peer}`;
  if ("unmeasured" in row) return `${title}\n  unmeasured: ${row.unmeasured}`;
  const sides = [row.levanter, row.other].map((side) => [
    side.version,
    `${side.medianMilliseconds.toFixed(0)} ms`,
    `${side.minimumMilliseconds.toFixed(0)} ms`,
    `${side.tokensPerSecond.toFixed(0)}`,
    `${(side.peakBytes / MIB).toFixed(0)} MiB`,
  ]);
  return [
    `${title}: ${shape.layers} layers, D ${shape.width}, V ${shape.vocabulary}, ${shape.heads} heads, batch ${shape.batch} x ${shape.length}, AdamW`,
    ...align([["", "median step", "least step", "tokens/s", "peak memory"], ...sides]),
    `  speed ${row.speedByMedian.toFixed(2)}x by medians, ${row.speedByMinimum.toFixed(2)}x by minima; memory ${row.memory.toFixed(2)}x`,
    `  ${formatCalibration(row.calibration)}`,
    row.void === null ? "  losses of 5 steps agree within 1e-3" : `  VOID: ${row.void}`,
  ].join("\n");
}

function formatCalibration({ engine, torch }: Calibration): string {
  const speeds = ({ oneThread, twoThreads }: Calibration["engine"]): string => `${oneThread.toFixed(0)} / ${twoThreads.toFixed(0)}`;
  const other = torch === undefined ? "" : `, PyTorch ${speeds(torch)}`;
  return `calibration, best 2048-cubed product in GFLOP/s with 1 / 2 threads: engine ${speeds(engine)}${other}`;
}

function align(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) => `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ")}`);
}
