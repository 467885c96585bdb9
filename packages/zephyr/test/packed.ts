import { readFileSync } from "node:fs";
import { isMarinError } from "@marin/iris";
import { unpack } from "../src/compression/unpack.js";
import { randomNumbers } from "./random.js";

/** A packed file and where its members end. */
export interface PackedFixture {
  readonly path: string;
  readonly packed: Buffer;
  /** Offsets at which a file that ends there is whole: what is before is all that it holds. */
  readonly borders: readonly number[];
}

const fixture = (name: string, ...borders: number[]): PackedFixture => ({ path: name, packed: readFileSync(new URL(`./fixtures/packed/${name}`, import.meta.url)), borders });

/** `a.jsonl`, packed by the tools of each format in two halves. */
export const packedFixtures: readonly PackedFixture[] = [fixture("a.jsonl.gz", 607), fixture("a.jsonl.zst", 13, 646, 659, 1233), fixture("a.jsonl.xz", 792)];

type Unpacker = (path: string, stored: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;

/** All that is in a packed file that arrives in chunks. */
export async function unpackAll(unpacker: Unpacker, path: string, packed: Uint8Array, chunkBytes = 1 << 16): Promise<Buffer> {
  const stored = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < packed.length; at += chunkBytes) yield packed.subarray(at, at + chunkBytes);
  };
  const chunks: Uint8Array[] = [];
  for await (const chunk of unpacker(path, stored())) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** What becomes of a packed file that is damaged at random places. */
export interface DamageReport {
  readonly cuts: number;
  readonly flips: number;
  /** Damage that ended in an error. */
  readonly detected: number;
  /** Damage that gave another content without an error. */
  readonly silent: readonly string[];
  /** Errors that do not name the file and a place. */
  readonly unnamed: readonly string[];
}

/** Cuts a packed file at random places, and flips random bits of it, one at a time. */
export async function damageReport({ path, packed, content, borders, cuts, flips, unpacker = unpack }: PackedFixture & { readonly content: Buffer; readonly cuts: number; readonly flips: number; readonly unpacker?: Unpacker }): Promise<DamageReport> {
  const random = randomNumbers(11);
  const [silent, unnamed]: [string[], string[]] = [[], []];
  let detected = 0;
  const examine = async (what: string, damaged: Uint8Array, isFine: (found: Buffer) => boolean): Promise<void> => {
    try {
      if (!isFine(await unpackAll(unpacker, path, damaged))) silent.push(what);
    } catch (error) {
      detected += 1;
      const told = isMarinError(error) && error.data["path"] === path && error.message.startsWith(path) && (typeof error.data["offset"] === "number" || error.code === "ZEPHYR_COMPRESSION_UNSUPPORTED");
      if (!told) unnamed.push(`${what}: ${String(error)}`);
    }
  };
  for (let round = 0; round < cuts; round += 1) {
    const length = Math.floor(random() * packed.length);
    await examine(`cut at ${String(length)}`, packed.subarray(0, length), (found) => borders.includes(length) && content.subarray(0, found.length).equals(found));
  }
  for (let round = 0; round < flips; round += 1) {
    const bit = Math.floor(random() * packed.length * 8);
    const damaged = Buffer.from(packed);
    damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    await examine(`bit ${String(bit)} flipped`, damaged, (found) => found.equals(content));
  }
  return { cuts, flips, detected, silent, unnamed };
}
