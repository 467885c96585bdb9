import { readFileSync } from "node:fs";
import { elementCount } from "../../src/engine/shape.js";

/** Where a tensor lies in a fixture's file of numbers; `offset` counts 4-byte values. */
export interface StoredTensor {
  readonly shape: number[];
  readonly dtype: "float32" | "int32" | "bool";
  readonly offset: number;
}

/** A fixture's index and its numbers. */
export class Fixture<Index> {
  readonly index: Index;
  readonly #bytes: Buffer;

  private constructor(index: Index, bytes: Buffer) {
    this.index = index;
    this.#bytes = bytes;
  }

  /** Opens `<name>.json` and `<name>.bin` of this folder. */
  static open<Index>(name: string): Fixture<Index> {
    return new Fixture(readIndex<Index>(name), readFileSync(new URL(`${name}.bin`, import.meta.url)));
  }

  /** The values of one tensor, row-major; booleans as 0 and 1. */
  values(stored: StoredTensor): number[] {
    const count = elementCount(stored.shape);
    return Array.from({ length: count }, (_, index) => {
      const at = (stored.offset + index) * 4;
      return stored.dtype === "float32" ? this.#bytes.readFloatLE(at) : this.#bytes.readInt32LE(at);
    });
  }
}

/** Reads `<name>.json` of this folder. */
export function readIndex<Index>(name: string): Index {
  return JSON.parse(readFileSync(new URL(`${name}.json`, import.meta.url), "utf8")) as Index;
}
