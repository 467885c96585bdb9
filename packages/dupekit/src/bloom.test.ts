import fc from "fast-check";
import { expect, test } from "vitest";
import { BloomFilter } from "./bloom.js";
import { shingleSequence } from "./shingle.js";
import { xxh3_64 } from "./xxh3.js";

function filled(items: readonly string[], options = { items: 100, falsePositiveRate: 0.01 }): BloomFilter {
  const filter = BloomFilter.create(options);
  for (const item of items) filter.add(item);
  return filter;
}

test("Bloom: a million items at a rate of 0.001: none is missed, and of a million others at most 0.0013 are called present", () => {
  const items = 1_000_000;
  const filter = BloomFilter.create({ items, falsePositiveRate: 0.001 });
  // Numbers in, hashes of 64 bits out.
  const hashes = (from: number): BigUint64Array => shingleSequence(Uint32Array.from({ length: items }, (_, index) => from + index), { size: 1, bits: 64 });
  const own = hashes(0);
  filter.addHashes(own);
  expect(filter.hasHashes(own).every((present) => present === 1)).toBe(true);
  const wrong = filter.hasHashes(hashes(items)).reduce((sum, present) => sum + present, 0);
  expect(wrong / items).toBeLessThanOrEqual(0.0013);
  expect(wrong / items).toBeGreaterThan(0.0007);
});

test.each([
  [50_000, 0.05],
  [50_000, 0.01],
])("%d items: all are present, and of others about %d are called so", (items, falsePositiveRate) => {
  const filter = BloomFilter.create({ items, falsePositiveRate });
  for (let index = 0; index < items; index += 1) filter.add(`item ${String(index)}`);
  for (let index = 0; index < items; index += 97) expect(filter.has(`item ${String(index)}`)).toBe(true);
  const trials = 100_000;
  let wrong = 0;
  for (let index = 0; index < trials; index += 1) if (filter.has(`other ${String(index)}`)) wrong += 1;
  expect(wrong / trials).toBeLessThan(1.15 * falsePositiveRate + 3 * Math.sqrt(falsePositiveRate / trials));
  expect(wrong / trials).toBeGreaterThan(0.8 * falsePositiveRate);
  expect(Math.abs(filter.estimateItems() / items - 1)).toBeLessThan(0.01);
  expect(filter.added / items).toBeGreaterThan(1 - 2 * falsePositiveRate);
});

test("the size is the least for the rate", () => {
  // -27000 ln(0.0317) / ln(2)^2 = 193,960 bits, rounded up to whole words.
  expect(BloomFilter.create({ items: 27_000, falsePositiveRate: 0.0317 })).toMatchObject({ bits: 193_984, hashes: 5 });
});

const items = fc.array(fc.string(), { maxLength: 40 });

test("never absent of an item that was added; a union is the filter of both; an intersection holds what both hold", () => {
  fc.assert(
    fc.property(items, items, (a, b) => {
      const [left, right] = [filled(a), filled(b)];
      for (const item of a) expect(left.has(item)).toBe(true);
      const union = left.union(right);
      expect(bitsOf(union)).toEqual(bitsOf(filled([...a, ...b])));
      const both = left.intersection(right);
      for (const item of a) if (b.includes(item)) expect(both.has(item)).toBe(true);
      expect(bitsOf(left.union(left))).toEqual(bitsOf(left));
      expect(bitsOf(left.intersection(left))).toEqual(bitsOf(left));
      expect([left.isSubsetOf(union), both.isSubsetOf(left), left.isSubsetOf(left)]).toEqual([true, true, true]);
      expect(left.isSubsetOf(right)).toBe(left.union(right).equals(right));
      expect(left.equals(right)).toBe(left.isSubsetOf(right) && right.isSubsetOf(left));
    }),
  );
});

/** Without the header, which counts what was added. */
function bitsOf(filter: BloomFilter): Uint8Array {
  return filter.save().subarray(32);
}

test("adding tells whether the item was new; text and its UTF-8 bytes are one item", () => {
  const filter = BloomFilter.create({ items: 1000 });
  expect([filter.add("é"), filter.add("é"), filter.add(Buffer.from("é"))]).toEqual([true, false, false]);
  expect(filter.added).toBe(1);
});

test("an item's hash stands for the item", () => {
  fc.assert(
    fc.property(items, items, (a, b) => {
      const [byItem, byHash] = [filled(a), filled([])];
      expect(byHash.addHashes(BigUint64Array.from(a, (item) => xxh3_64(item)))).toBe(byItem.added);
      expect(byHash.save()).toEqual(byItem.save());
      expect(Array.from(byItem.hasHashes(BigUint64Array.from(b, (item) => xxh3_64(item))))).toEqual(b.map((item) => Number(byItem.has(item))));
    }),
  );
});

test("many items at once are as each in turn, whatever they are", () => {
  const item = fc.oneof(fc.string({ unit: "binary" }), fc.string(), fc.constantFrom("", "\ud83d", "\ude00", "語", "é".repeat(9), "x".repeat(20_000), "ü".repeat(6_000)), fc.uint8Array({ maxLength: 40 }));
  const many = fc.array(item, { maxLength: 30 });
  fc.assert(
    fc.property(many, many, fc.constantFrom(1, 60), (a, b, times) => {
      // Repeated, so that there are more than one call of the kernels takes.
      const stream = Array.from({ length: times }, () => a).flat();
      const [together, single] = [BloomFilter.create({ items: 100 }), BloomFilter.create({ items: 100 })];
      const fresh = stream.filter((one) => single.add(one)).length;
      expect(together.addAll(stream)).toBe(fresh);
      expect(together.save()).toEqual(single.save());
      expect(Array.from(together.hasAll([...b, ...a]))).toEqual([...b, ...a].map((one) => Number(single.has(one))));
    }),
    { numRuns: 40 },
  );
});

test("a copy goes its own way, and clearing forgets all", () => {
  const filter = filled(["a"]);
  const copy = filter.copy();
  copy.add("b");
  expect([filter.has("b"), copy.has("a"), copy.has("b"), copy.added]).toEqual([false, true, true, 2]);
  copy.clear();
  expect(copy.equals(filled([]))).toBe(true);
  expect(copy.added).toBe(0);
});

test("a saved filter comes back, wherever its bytes lie", () => {
  return fc.assert(
    fc.asyncProperty(items, fc.integer({ min: 1, max: 90 }), async (added, size) => {
      const filter = filled(added);
      const bytes = Buffer.concat([Buffer.from("xyz"), filter.save()]).subarray(3);
      const loaded = BloomFilter.load(bytes);
      expect(loaded.save()).toEqual(filter.save());
      expect(loaded).toMatchObject({ bits: filter.bits, hashes: filter.hashes, added: filter.added });
      for (const item of added) expect(loaded.has(item)).toBe(true);
      const saved = Buffer.concat(Array.from(filter.saveChunks()));
      const chunks = Array.from({ length: Math.ceil(saved.length / size) }, (_, index) => saved.subarray(index * size, (index + 1) * size));
      expect((await BloomFilter.loadChunks(chunks)).equals(filter)).toBe(true);
    }),
  );
});

test("the saved form is fixed", () => {
  expect(Buffer.from(filled(["a", "b"], { items: 4, falsePositiveRate: 0.1 }).save()).toString("hex")).toMatchInlineSnapshot(`"444b424602000000060000000100000000000000000000401bda1ec483b490a0090398e4"`);
});

test("Bloom: what is no whole filter of this version is refused, saying what was found", async () => {
  const bytes = filled(["a"]).save();
  const changed = (at: number, value: number): Uint8Array => Uint8Array.from(bytes, (byte, index) => (index === at ? value : byte));
  expect(() => BloomFilter.load(new Uint8Array())).toThrow(/these 0 bytes do not/);
  expect(() => BloomFilter.load(changed(0, 0))).toThrow(/DKBF/);
  for (const other of [1, 9]) expect(() => BloomFilter.load(changed(4, other))).toThrow(new RegExp(`layout version ${String(other)}`));
  expect(() => BloomFilter.load(changed(8, 0))).toThrow(/header of this Bloom filter is damaged/);
  expect(() => BloomFilter.load(changed(23, 0xff))).toThrow(/damaged/);
  for (const at of [16, 24, 32, bytes.length - 1]) expect(() => BloomFilter.load(changed(at, (bytes[at] ?? 0) ^ 4))).toThrow(/damaged|was changed after it was saved/);
  await expect(BloomFilter.loadChunks([bytes.subarray(0, 40)])).rejects.toThrow(/cut short/);
  await expect(BloomFilter.loadChunks([bytes, bytes])).rejects.toThrow(/joined with something else/);
  await expect(BloomFilter.loadChunks([])).rejects.toThrow(/these 0 bytes/);
  for (let length = 0; length < bytes.length; length += 1) expect(() => BloomFilter.load(bytes.subarray(0, length))).toThrow(RangeError);
  expect(() => BloomFilter.load(Buffer.concat([bytes, Buffer.alloc(4)]))).toThrow(/cut short or joined/);
});

test("Bloom: filters of different sizes do not merge; options out of range are refused", () => {
  const [small, large] = [filled(["a"]), filled(["a"], { items: 1000, falsePositiveRate: 0.01 })];
  expect(() => small.union(large)).toThrow(/bits with .* hashes, and/);
  expect(() => small.intersection(large)).toThrow(RangeError);
  expect(() => small.isSubsetOf(large)).toThrow(/comparison needs filters of one size/);
  expect(() => small.equals(large)).toThrow(RangeError);
  for (const count of [0, -1, 1.5, NaN, Infinity]) expect(() => BloomFilter.create({ items: count })).toThrow(RangeError);
  for (const falsePositiveRate of [0, 1, -0.1, NaN]) expect(() => BloomFilter.create({ items: 10, falsePositiveRate })).toThrow(RangeError);
  expect(() => BloomFilter.create({ items: 1e9, falsePositiveRate: 1e-6 })).toThrow(/use several filters/);
});
