import fc from "fast-check";
import { expect, test, vi } from "vitest";
import * as withKernels from "./index.js";

/** The package once more, as it is where WebAssembly is switched off. */
const portable = await (async () => {
  vi.resetModules();
  vi.stubGlobal("WebAssembly", undefined);
  const [copy, { kernelsFor }] = [await import("./index.js"), await import("./wasm/kernels.js")];
  expect(kernelsFor(0)).toBeUndefined();
  vi.unstubAllGlobals();
  return copy;
})();

const word = fc.constantFrom("a", "The", "fox,", "jumps", "über", "ﬁne", "😀x", "\ud800", "語", "—", "It’s", "e\u0301");
const text = fc.array(word, { maxLength: 60 }).map((words) => words.join(" "));

test("without WebAssembly shingles are the same", () => {
  fc.assert(
    fc.property(text, fc.constantFrom("word" as const, "character" as const), fc.integer({ min: 1, max: 14 }), fc.constantFrom("unicode" as const, "ascii" as const), (input, unit, size, punctuation) => {
      for (const bits of [32, 64] as const) {
        const options = { unit, size, bits, punctuation };
        expect(portable.shingleSequence(input, options)).toEqual(withKernels.shingleSequence(input, options));
      }
      expect(portable.cleanText(input, { punctuation })).toBe(withKernels.cleanText(input, { punctuation }));
    }),
  );
});

test("so they are whatever characters of ASCII stand next to each other, between others now and then, and however long words are", () => {
  const ascii = fc.integer({ min: 0, max: 127 }).map((unit) => String.fromCharCode(unit));
  const letters = fc.constantFrom(..."aZ09").chain((letter) => fc.integer({ min: 1, max: 40 }).map((length) => letter.repeat(length)));
  const part = fc.oneof({ weight: 8, arbitrary: ascii }, { weight: 3, arbitrary: fc.constantFrom(" ", "  ", ", ", " - ", "\n") }, { weight: 3, arbitrary: letters }, { weight: 1, arbitrary: word });
  fc.assert(
    fc.property(fc.array(part, { maxLength: 300 }), (parts) => {
      const input = parts.join("");
      expect(withKernels.cleanText(input)).toBe(portable.cleanText(input));
      for (const bits of [32, 64] as const) expect(withKernels.shingleSequence(input, { size: 2, bits })).toEqual(portable.shingleSequence(input, { size: 2, bits }));
    }),
  );
});

test("so they are of more words than the kernels take at a time", () => {
  for (const count of [511, 512, 513, 1024, 2000]) {
    const input = Array.from({ length: count }, (_, index) => String.fromCharCode(97 + (index % 26)).repeat(1 + ((index * 7) % 19)) + String(index)).join(" ");
    expect(withKernels.shingleSequence(input, { size: 1 })).toEqual(portable.shingleSequence(input, { size: 1 }));
  }
});

test("so are those of tokens", () => {
  fc.assert(
    fc.property(fc.uint32Array({ maxLength: 40 }), fc.integer({ min: 1, max: 9 }), (tokens, size) => {
      for (const bits of [32, 64] as const) expect(portable.shingleSequence(tokens, { size, bits })).toEqual(withKernels.shingleSequence(tokens, { size, bits }));
    }),
  );
});

test("so are signatures, of few hashes and of many that repeat", () => {
  fc.assert(
    fc.property(fc.bigUint64Array({ maxLength: 40 }), fc.constantFrom(1, 200), fc.integer({ min: 1, max: 40 }), fc.nat(), (hashes, times, permutations, seed) => {
      const long = BigUint64Array.from({ length: hashes.length * times }, (_, index) => hashes[index % hashes.length] ?? 0n);
      const short = Uint32Array.from(long, (hash) => Number(hash & 0xffffffffn));
      expect(new portable.MinHash({ permutations, seed }).signature(short)).toEqual(new withKernels.MinHash({ permutations, seed }).signature(short));
      expect(new portable.MinHash({ permutations, seed, bits: 64 }).signature(long)).toEqual(new withKernels.MinHash({ permutations, seed, bits: 64 }).signature(long));
    }),
    { numRuns: 40 },
  );
});

test("so are hashes and filters", () => {
  const items = Array.from({ length: 300 }, (_, index) => "é".repeat(index) + String(index));
  const saved = [portable, withKernels].map(({ BloomFilter, xxh3_64, xxh3_128, blake3 }) => {
    const filter = BloomFilter.create({ items: 400, falsePositiveRate: 0.01 });
    for (const item of items) filter.add(item);
    filter.addAll(items.map((item) => `${item},`));
    filter.addHashes(BigUint64Array.from(items, (item) => xxh3_64(`${item}.`)));
    return [filter.save(), items.map((item) => xxh3_128(item)), items.map((item) => Buffer.from(blake3(item)).toString("hex"))];
  });
  expect(saved[0]).toEqual(saved[1]);
});
