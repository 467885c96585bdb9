export { blake3Begin, blake3Chunks, blake3Finish } from "./blake3";
export { minHash32, minHash64, skipRepeated32, skipRepeated64 } from "./minhash";
export { result, xxh3Begin, xxh3Blocks, xxh3Finish, xxh3Narrow, xxh3Unseeded, xxh3Wide } from "./xxh3";
export { clean } from "./clean";
export { codePoints, encode, tokenWindows64, windows32, windows64 } from "./shingle";
export { hashTexts } from "./texts";
export { wordHashes } from "./words";

/** Where memory that the caller divides begins. */
export const heap: usize = __heap_base;
