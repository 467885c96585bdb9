import type { CurvePoint } from "../steps/loss-curve.js";

/**
 * A curve of at most `limit` points: means of equally many neighbours each, at the last neighbour's step, the last mean perhaps of fewer.
 *
 * @returns the points, and how many of the given ones each is the mean of
 */
export function thinCurve(curve: readonly CurvePoint[], limit: number): { points: CurvePoint[]; pointsPerMean: number } {
  const size = Math.max(1, Math.ceil(curve.length / limit));
  const points: CurvePoint[] = [];
  for (let start = 0; start < curve.length; start += size) {
    const group = curve.slice(start, start + size);
    const mean = (key: keyof CurvePoint): number => group.reduce((sum, point) => sum + point[key], 0) / group.length;
    points.push({ step: (group.at(-1) as CurvePoint).step, loss: mean("loss"), learningRate: mean("learningRate"), gradientNorm: mean("gradientNorm") });
  }
  return { points, pointsPerMean: size };
}
