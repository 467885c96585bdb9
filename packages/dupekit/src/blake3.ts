import { blake3Portable } from "./blake3-portable.js";
import { kernelsFor } from "./wasm/kernels.js";

/** Input is copied to the kernels in parts of this size, a multiple of BLAKE3's four chunks of 1024 bytes. */
const windowBytes = 65_536;
const encoder = new TextEncoder();

/**
 * BLAKE3 (O'Connor, Aumasson, Neves, Wilcox-O'Hearn 2020) without a key: a cryptographic hash, bit for bit.
 *
 * @param data - bytes, or a text, which stands for its UTF-8 bytes
 * @returns 32 bytes; `Buffer.from(hash).toString("hex")` is how they are written
 */
export function blake3(data: string | Uint8Array): Uint8Array {
  const bytes = typeof data === "string" ? encoder.encode(data) : data;
  const kernels = kernelsFor(windowBytes);
  if (kernels === undefined) return blake3Portable(bytes);
  const { run, free } = kernels;
  run.blake3Begin();
  // The last chunk stays, even where it is whole.
  const whole = Math.max(0, Math.ceil(bytes.length / 1024) - 1) * 1024;
  for (let at = 0; at < whole; at += windowBytes) {
    const part = bytes.subarray(at, Math.min(whole, at + windowBytes));
    kernels.bytes.set(part, free);
    run.blake3Chunks(free, part.length / 1024);
  }
  kernels.bytes.set(bytes.subarray(whole), free);
  const hash = run.blake3Finish(free, bytes.length - whole);
  return kernels.bytes.slice(hash, hash + 32);
}
