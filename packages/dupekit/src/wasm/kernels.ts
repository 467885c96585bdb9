import { isLittleEndian } from "../endian.js";
import { kernelsBinary } from "./kernels-binary.js";

/** The functions of the module that assembly/ makes. Addresses and lengths are in bytes unless the name says otherwise. */
interface KernelFunctions {
  readonly memory: { readonly buffer: ArrayBuffer; grow(pages: number): number };
  readonly heap: { readonly value: number };
  readonly result: { readonly value: number };
  clean(text: number, units: number, table: number, astral: number, prepared: 0 | 1 | 2): number;
  codePoints(text: number, units: number, points: number): number;
  wordHashes(text: number, units: number, hashes: number): number;
  windows32(numbers: number, count: number, size: number): number;
  encode(text: number, units: number, bytes: number, starts: number, words: 0 | 1): number;
  windows64(bytes: number, starts: number, count: number, size: number, words: 0 | 1, hashes: number): number;
  tokenWindows64(numbers: number, count: number, size: number, hashes: number): number;
  minHash32(hashes: number, count: number, masks: number, factors: number, signature: number, permutations: number): void;
  minHash64(hashes: number, count: number, masks: number, factors: number, signature: number, permutations: number): void;
  skipRepeated32(hashes: number, count: number, table: number): number;
  skipRepeated64(hashes: number, count: number, table: number): number;
  xxh3Narrow(at: number, length: number, seed: bigint): void;
  xxh3Unseeded(at: number, length: number): void;
  xxh3Wide(at: number, length: number, seed: bigint): void;
  hashTexts(texts: number, ends: number, count: number, bytes: number, starts: number, hashes: number): void;
  xxh3Begin(seed: bigint): void;
  xxh3Blocks(at: number, blocks: number, seed: bigint): void;
  xxh3Finish(at: number, length: number, last: number, total: bigint, seed: bigint): void;
  blake3Begin(): void;
  blake3Chunks(at: number, chunks: number): void;
  blake3Finish(at: number, length: number): number;
}

interface WebAssemblyApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (module: object, imports: object) => { readonly exports: unknown };
}

const pageBytes = 65_536;
/** A call that needs more gets an instance of its own, since the memory of an instance never shrinks. */
const sharedBytes = 32 * 2 ** 20;
/** No call uses the kernels for more: they can address 4 GiB. */
const mostBytes = 3.5 * 2 ** 30;

/**
 * An instance of the kernels with views of its memory. The memory belongs to whoever runs: nothing in it outlives a call, but what is below `free`.
 */
export class Kernels {
  readonly run: KernelFunctions;
  /** Where the memory that a call divides begins, a multiple of 16. */
  free: number;
  /** Where the 16 bytes of an XXH3 lie. */
  readonly result: number;
  #end = 0;
  bytes = new Uint8Array(0);
  words = new Uint32Array(0);
  /** The same bytes, for text. */
  buffer = Buffer.alloc(0);

  constructor(run: KernelFunctions) {
    this.run = run;
    this.free = roundUp(run.heap.value);
    this.result = run.result.value;
    this.reserve(64);
  }

  /** Makes sure of so many bytes from `free` on. What is in the memory stays. */
  reserve(bytes: number): void {
    if (this.free + bytes <= this.#end) return;
    const { memory } = this.run;
    const missing = this.free + bytes - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / pageBytes));
    this.bytes = new Uint8Array(memory.buffer);
    this.words = new Uint32Array(memory.buffer);
    this.buffer = Buffer.from(memory.buffer);
    this.#end = this.bytes.length;
  }

  /** Sets memory apart for good. */
  keep(bytes: number): number {
    this.reserve(bytes);
    const at = this.free;
    this.free = roundUp(at + bytes);
    return at;
  }
}

/** The next multiple of 16. */
export function roundUp(address: number): number {
  return Math.ceil(address / 16) * 16;
}

let module: object | false | undefined;
let shared: Kernels | undefined;

/**
 * The kernels with so many bytes of memory to use, or `undefined` where the portable code must do: WebAssembly is switched off, lacks its vector instructions, the machine is
 * big-endian, or the call needs too much memory.
 */
export function kernelsFor(bytes: number): Kernels | undefined {
  module ??= compile() ?? false;
  if (module === false || bytes > mostBytes) return undefined;
  const kernels = bytes > sharedBytes ? instantiate(module) : (shared ??= instantiate(module));
  kernels.reserve(bytes);
  return kernels;
}

function api(): WebAssemblyApi | undefined {
  return (globalThis as { readonly WebAssembly?: WebAssemblyApi }).WebAssembly;
}

function compile(): object | undefined {
  const found = api();
  if (found === undefined || !isLittleEndian) return undefined;
  try {
    return new found.Module(Buffer.from(kernelsBinary, "base64"));
  } catch {
    return undefined;
  }
}

function instantiate(compiled: object): Kernels {
  const { Instance } = api() as WebAssemblyApi;
  return new Kernels(new Instance(compiled, {}).exports as KernelFunctions);
}
