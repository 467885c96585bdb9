import fc from "fast-check";
import { expect, test } from "vitest";

import { thinCurve } from "./thin-curve.js";

const point = (step: number, value: number): { step: number; loss: number; learningRate: number; gradientNorm: number } => ({ step, loss: value, learningRate: value / 8, gradientNorm: 2 * value });

test("a short curve stays as it is; a long one becomes means of neighbours", () => {
  const curve = [1, 2, 3, 4, 5].map((step) => point(step, step));
  expect(thinCurve(curve, 5)).toEqual({ points: curve, pointsPerMean: 1 });
  expect(thinCurve(curve, 3)).toEqual({ points: [point(2, 1.5), point(4, 3.5), point(5, 5)], pointsPerMean: 2 });
  expect(thinCurve([], 3)).toEqual({ points: [], pointsPerMean: 1 });
});

test("there are at most as many points as asked for, and the last step is kept", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 500 }), fc.integer({ min: 1, max: 60 }), (length, limit) => {
      const { points, pointsPerMean } = thinCurve(Array.from({ length }, (_, index) => point(index + 1, index % 7)), limit);
      expect(points.length).toBeLessThanOrEqual(limit);
      expect(points.length).toBe(Math.ceil(length / pointsPerMean));
      expect(points.at(-1)?.step).toBe(length);
    }),
  );
});
