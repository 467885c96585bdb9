import { join } from "node:path";

import { isMarinError } from "@marin/rigging";
import { JsonlReader, writeJsonl } from "@marin/zephyr";
import { z } from "zod";

const pointSchema = z.object({
  step: z.int().positive(),
  loss: z.number(),
  learningRate: z.number(),
  gradientNorm: z.number(),
});

/** The numbers of one training step that are the same on every run: its loss in nats per token, learning rate, and gradient norm before clipping. */
export type CurvePoint = z.output<typeof pointSchema>;

/** File of a trained artifact, one {@link CurvePoint} a line, steps ascending. */
const CURVE_FILE = "curve.jsonl";

/**
 * Keeps of a finished run's `metrics.jsonl` what belongs to the result: the points at the run's cadence, without speed, and without the lines that
 * a validation in between has added. The metrics go on across restarts, so the curve does not tell whether there were any.
 *
 * @param directory - the run's directory
 * @param run - steps of the run and between points
 */
export async function writeLossCurve(directory: string, { steps, logEvery }: { readonly steps: number; readonly logEvery: number }): Promise<void> {
  const points: CurvePoint[] = [];
  for await (const point of readPoints(join(directory, "metrics.jsonl"))) {
    if (point.step === steps || point.step % logEvery === 0) points.push(point);
  }
  await writeJsonl(join(directory, CURVE_FILE), points);
}

/** The curve of a trained artifact; empty when the artifact has none. */
export async function readLossCurve(directory: string): Promise<CurvePoint[]> {
  const points: CurvePoint[] = [];
  try {
    for await (const point of readPoints(join(directory, CURVE_FILE))) points.push(point);
  } catch (error) {
    if (!isMarinError(error, "RIGGING_NOT_FOUND")) throw error;
  }
  return points;
}

function readPoints(path: string): AsyncIterable<CurvePoint> {
  return new JsonlReader({ path, parse: (value) => pointSchema.parse(value) });
}
