// BLAKE3 without WebAssembly, as its paper has it (O'Connor, Aumasson, Neves, Wilcox-O'Hearn, 2020).

const initial = Uint32Array.of(0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19);
const permutation = [2, 6, 3, 10, 7, 0, 4, 13, 1, 11, 12, 5, 9, 14, 15, 8];
/** The four columns and the four diagonals of the state. */
const quarters = [[0, 4, 8, 12], [1, 5, 9, 13], [2, 6, 10, 14], [3, 7, 11, 15], [0, 5, 10, 15], [1, 6, 11, 12], [2, 7, 8, 13], [3, 4, 9, 14]] as const;
const flag = { chunkStart: 1, chunkEnd: 2, parent: 4, root: 8 } as const;
const chunkBytes = 1024;

/** BLAKE3, 32 bytes. */
export function blake3Portable(bytes: Uint8Array): Uint8Array {
  // The left half of a tree is the largest whole one that leaves something to the right.
  const subtree = (from: number, to: number, root: number): Uint32Array => {
    const chunks = Math.ceil((to - from) / chunkBytes);
    if (chunks <= 1) return chunk(bytes.subarray(from, to), from / chunkBytes, root);
    const middle = from + 2 ** Math.floor(Math.log2(chunks - 1)) * chunkBytes;
    const words = new Uint32Array(16);
    words.set(subtree(from, middle, 0));
    words.set(subtree(middle, to, 0), 8);
    return compress(initial, words, 0, 64, flag.parent | root);
  };
  const hash = new DataView(new ArrayBuffer(32));
  for (const [index, word] of subtree(0, bytes.length, flag.root).entries()) hash.setUint32(index * 4, word, true);
  return new Uint8Array(hash.buffer);
}

function chunk(bytes: Uint8Array, counter: number, root: number): Uint32Array {
  let chain: Uint32Array = initial;
  const blocks = Math.max(1, Math.ceil(bytes.length / 64));
  for (let block = 0; block < blocks; block += 1) {
    const part = bytes.subarray(block * 64, block * 64 + 64);
    const padded = new DataView(new ArrayBuffer(64));
    new Uint8Array(padded.buffer).set(part);
    const words = Uint32Array.from({ length: 16 }, (_, index) => padded.getUint32(index * 4, true));
    const flags = (block === 0 ? flag.chunkStart : 0) | (block === blocks - 1 ? flag.chunkEnd | root : 0);
    chain = compress(chain, words, counter, part.length, flags);
  }
  return chain;
}

function compress(chain: Uint32Array, block: Uint32Array, counter: number, length: number, flags: number): Uint32Array {
  const state = new Uint32Array(16);
  state.set(chain);
  state.set(initial.subarray(0, 4), 8);
  state.set([counter, Math.floor(counter / 2 ** 32), length, flags], 12);
  let words = block;
  const at = (index: number): number => state[index] ?? 0;
  const turn = (to: number, from: number, by: number): void => {
    const value = at(to) ^ at(from);
    state[to] = (value >>> by) | (value << (32 - by));
  };
  for (let round = 0; round < 7; round += 1) {
    for (const [index, [a, b, c, d]] of quarters.entries()) {
      state[a] = at(a) + at(b) + (words[index * 2] ?? 0);
      turn(d, a, 16);
      state[c] = at(c) + at(d);
      turn(b, c, 12);
      state[a] = at(a) + at(b) + (words[index * 2 + 1] ?? 0);
      turn(d, a, 8);
      state[c] = at(c) + at(d);
      turn(b, c, 7);
    }
    const previous = words;
    words = Uint32Array.from(permutation, (from) => previous[from] ?? 0);
  }
  return Uint32Array.from({ length: 8 }, (_, index) => at(index) ^ at(index + 8));
}
