import { COMPARED_STEPS, LOSS_TOLERANCE, type Side } from "./comparison.js";
import type { Calibration, ProductSpeed } from "./calibration.js";
import type { WorkloadShape } from "./models.js";
import type { TrainRow } from "./train.js";
import type { WorkloadSize } from "./train-workload.js";

const MIB = 2 ** 20;

const HEADER = ["", "median step", "least step", "tokens/s", "of peak", "peak memory", "compile", "outside"];

/** The model and its batches, in one line. */
export function formatWorkload(name: string, shape: WorkloadShape, size: WorkloadSize): string {
  const { layers, width, heads, vocabulary, batch, length } = shape;
  return (
    `${name}: ${layers} layers, D ${width}, ${heads} heads, V ${vocabulary}, batch ${batch} x ${length}, AdamW; ` +
    `${(size.parameters / 1e6).toFixed(1)} M parameters, ${((size.flopsPerToken * size.tokensPerStep) / 1e9).toFixed(1)} GFLOP a step`
  );
}

/** One row for people, several lines. */
export function formatTrainRow(row: TrainRow): string {
  if ("unmeasured" in row) return `against ${row.peer}\n  unmeasured: ${row.unmeasured}`;
  const { levanter, other } = row;
  const threads = `${levanter.threads} ${levanter.threads === 1 ? "thread" : "threads"}`;
  const verdicts = [
    row.invalid === null ? `losses of ${COMPARED_STEPS} steps agree within ${LOSS_TOLERANCE}` : `INVALID: ${row.invalid}`,
    ...(row.void === null ? [] : [`VOID: ${row.void}`]),
  ];
  return [
    `against ${row.peer}, ${threads}, ${row.rounds} x ${row.steps} steps`,
    ...align([HEADER, sideCells(levanter), sideCells(other)]),
    `  speed ${row.speedByMedian.toFixed(2)}x by medians, ${row.speedByMinimum.toFixed(2)}x by minima; memory ${row.memory.toFixed(2)}x`,
    `  ${formatCalibration(row.calibration)}`,
    ...verdicts.map((line) => `  ${line}`),
  ].join("\n");
}

function sideCells(side: Side): string[] {
  return [
    side.version,
    `${side.medianMilliseconds.toFixed(0)} ms`,
    `${side.minimumMilliseconds.toFixed(0)} ms`,
    side.tokensPerSecond.toFixed(0),
    percent(side.fractionOfPeak, 0),
    `${(side.peakBytes / MIB).toFixed(0)} MiB`,
    side.compileMilliseconds === null ? "-" : `${(side.compileMilliseconds / 1000).toFixed(2)} s`,
    percent(side.outsideShare, 1),
  ];
}

function percent(share: number | null, digits: number): string {
  return share === null ? "-" : `${(share * 100).toFixed(digits)} %`;
}

function formatCalibration({ engine, torch }: Calibration): string {
  const speeds = ({ oneThread, twoThreads }: ProductSpeed): string => `${oneThread.toFixed(0)} / ${twoThreads.toFixed(0)}`;
  const other = torch === undefined ? "" : `, PyTorch ${speeds(torch)}`;
  return `calibration, best 2048-cubed product in GFLOP/s with 1 / 2 threads: engine ${speeds(engine)}${other}`;
}

/** Rows of cells in columns: the first to the left, the others to the right. */
export function align(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => (row[column] ?? "").length)));
  return rows.map((row) => `  ${row.map((cell, column) => (column === 0 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0))).join("  ")}`);
}
