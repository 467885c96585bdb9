import * as tf from "@tensorflow/tfjs-core";
import type { Engine } from "./engine/types.js";

/** Largest side of the square matrices whose product is timed. */
const LARGEST = 2048;
/** A product that takes longer than this, in seconds, tells enough: the next size would take eight times as long. */
const LONG_ENOUGH = 0.1;

const measured = new Map<string, Promise<number>>();

/**
 * The rate at which an engine multiplies large matrices, in FLOP/s: the best of three products of 2048 x 2048 float32 matrices (smaller ones on a slow
 * engine). It stands for the peak of a CPU, whose data sheet gives none that software reaches. Takes about a second; measured once per process and kind of engine.
 */
export function measuredPeakFlops(engine: Engine): Promise<number> {
  const known = measured.get(engine.description);
  if (known !== undefined) return known;
  const measuring = measure(engine);
  measured.set(engine.description, measuring);
  // A failure is told to who asked, and tried anew by who asks next.
  measuring.catch(() => measured.delete(engine.description));
  return measuring;
}

async function measure(engine: Engine): Promise<number> {
  for (let size = 256; ; size *= 2) {
    const seconds = await bestProduct(engine, size);
    if (size === LARGEST || seconds > LONG_ENOUGH) return (2 * size ** 3) / seconds;
  }
}

/** The shortest time of three products of matrices of a size, in seconds, after one that is not counted. */
async function bestProduct(engine: Engine, size: number): Promise<number> {
  const matrix = { shape: [size, size], dtype: "float32" } as const;
  const program = await engine.compile("peak", ({ a, b }) => ({ product: tf.matMul(a as tf.Tensor2D, b as tf.Tensor2D) }), { a: matrix, b: matrix });
  try {
    const group = engine.allocate({ a: matrix, b: matrix, product: matrix });
    try {
      const { a, b, product } = group.buffers;
      if (a === undefined || b === undefined || product === undefined) throw new TypeError("the matrices were not allocated");
      // Zeros may be faster than numbers.
      for (const buffer of [a, b]) buffer.write(Float32Array.from({ length: size * size }, (_, i) => (i % 7) - 3));
      let best = Number.POSITIVE_INFINITY;
      for (let run = 0; run < 4; run++) {
        const started = performance.now();
        await program.run({ a, b }, { product });
        if (run > 0) best = Math.min(best, (performance.now() - started) / 1000);
      }
      return best;
    } finally {
      group.release();
    }
  } finally {
    program.dispose();
  }
}
