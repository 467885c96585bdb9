import { MarinError } from "@marin/iris";
import { elementCount } from "../shape.js";
import type { DType, Specs, TensorData } from "../types.js";

/** Every tensor begins at a multiple of this many bytes: results of some kernels depend on the address modulo 16. */
export const alignmentBytes = 64;

/** Bytes of memory that the operating system maps at a time, at least. */
const pageBytes = 4096;

/** Bytes of one element in memory. */
export const bytesPerElement: Readonly<Record<DType, number>> = { float32: 4, int32: 4, bool: 1 };

/** Where each tensor lies in an arena; a pure function of the specs, so equal specs have equal layouts. */
export interface ArenaLayout {
  /** Offset in bytes by name, each a multiple of {@link alignmentBytes}. */
  readonly offsets: ReadonlyMap<string, number>;
  /** Total, a multiple of {@link alignmentBytes}. */
  readonly byteLength: number;
}

/**
 * Lays tensors out one after the other, in the order of their names in `specs`.
 *
 * @throws MarinError `LEVANTER_SHAPE` when an extent is not a non-negative integer
 */
export function layoutOf(specs: Specs): ArenaLayout {
  const offsets = new Map<string, number>();
  let end = 0;
  for (const [name, spec] of Object.entries(specs)) {
    if (!spec.shape.every((extent) => Number.isSafeInteger(extent) && extent >= 0)) {
      throw new MarinError("LEVANTER_SHAPE", `tensor "${name}" has the shape [${spec.shape.join(", ")}]; extents are non-negative integers`, {
        data: { name, shape: spec.shape },
      });
    }
    offsets.set(name, end);
    end += padded(Math.max(elementCount(spec.shape) * bytesPerElement[spec.dtype], 1));
  }
  return { offsets, byteLength: end };
}

function padded(bytes: number): number {
  return Math.ceil(bytes / alignmentBytes) * alignmentBytes;
}

/** One zero-filled block of memory that holds tensors side by side, each aligned, in the order of their names. */
export class AlignedArena {
  readonly specs: Specs;
  readonly layout: ArenaLayout;
  readonly #buffer: ArrayBuffer;
  readonly #start: number;

  /**
   * @param addressOf - tells where a buffer lies; without it the arena starts where its buffer does, at the allocator's own alignment
   * @throws MarinError `LEVANTER_MEMORY` when the memory cannot be had, `LEVANTER_SHAPE` for impossible shapes
   */
  constructor(specs: Specs, addressOf: ((buffer: ArrayBuffer) => bigint) | undefined) {
    this.specs = specs;
    this.layout = layoutOf(specs);
    this.#buffer = allocate(this.layout.byteLength + alignmentBytes);
    this.#start = addressOf === undefined ? 0 : Number(-addressOf(this.#buffer) & BigInt(alignmentBytes - 1));
  }

  /** Bytes held, padding included. */
  get byteLength(): number {
    return this.#buffer.byteLength;
  }

  /** The elements of one tensor. */
  view(name: string): TensorData {
    const spec = this.specs[name];
    const offset = this.layout.offsets.get(name);
    if (spec === undefined || offset === undefined) throw new RangeError(`the arena holds no tensor "${name}"`);
    const at = this.#start + offset;
    switch (spec.dtype) {
      case "float32":
        return new Float32Array(this.#buffer, at, elementCount(spec.shape));
      case "int32":
        return new Int32Array(this.#buffer, at, elementCount(spec.shape));
      case "bool":
        return new Uint8Array(this.#buffer, at, elementCount(spec.shape));
    }
  }

  /** The whole arena, padding between and behind the tensors included, as float32. */
  flat(): Float32Array {
    return new Float32Array(this.#buffer, this.#start, this.layout.byteLength / 4);
  }
}

function allocate(bytes: number): ArrayBuffer {
  let buffer: ArrayBuffer;
  try {
    buffer = new ArrayBuffer(bytes);
  } catch (cause) {
    throw new MarinError("LEVANTER_MEMORY", `${(bytes / 2 ** 20).toFixed(0)} MiB for tensors could not be allocated. Choose a smaller model or batch.`, {
      cause,
      data: { bytes },
    });
  }
  // Fresh memory is mapped at the first write to each page. Paying here keeps it out of the first training steps, where it cost seconds.
  const view = new Uint8Array(buffer);
  for (let at = 0; at < bytes; at += pageBytes) view[at] = 0;
  return buffer;
}
