import fc from "fast-check";
import { expect, test } from "vitest";
import { BloomFilter } from "./bloom.js";

function filled(items: readonly string[], options = { items: 100, falsePositiveRate: 0.01 }): BloomFilter {
  const filter = BloomFilter.create(options);
  for (const item of items) filter.add(item);
  return filter;
}

test.each([
  [100_000, 0.05],
  [100_000, 0.01],
  [200_000, 0.001],
])("%d items: all are present, and of others about %d are called so", (items, falsePositiveRate) => {
  const filter = BloomFilter.create({ items, falsePositiveRate });
  for (let index = 0; index < items; index += 1) filter.add(`item ${String(index)}`);
  for (let index = 0; index < items; index += 97) expect(filter.has(`item ${String(index)}`)).toBe(true);
  const trials = 200_000;
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
    }),
  );
});

/** Without the header, which counts what was added. */
function bitsOf(filter: BloomFilter): Uint8Array {
  return filter.save().subarray(24);
}

test("adding tells whether the item was new; text and its UTF-8 bytes are one item", () => {
  const filter = BloomFilter.create({ items: 1000 });
  expect([filter.add("é"), filter.add("é"), filter.add(Buffer.from("é"))]).toEqual([true, false, false]);
  expect(filter.added).toBe(1);
});

test("a saved filter comes back, wherever its bytes lie", () => {
  fc.assert(
    fc.property(items, (added) => {
      const filter = filled(added);
      const bytes = Buffer.concat([Buffer.from("xyz"), filter.save()]).subarray(3);
      const loaded = BloomFilter.load(bytes);
      expect(loaded.save()).toEqual(filter.save());
      expect(loaded).toMatchObject({ bits: filter.bits, hashes: filter.hashes, added: filter.added });
      for (const item of added) expect(loaded.has(item)).toBe(true);
    }),
  );
});

test("the saved form is fixed", () => {
  expect(Buffer.from(filled(["a", "b"], { items: 4, falsePositiveRate: 0.1 }).save()).toString("hex")).toMatchInlineSnapshot(`"444b424601000000060000000100000000000000000000400a958b24"`);
});

test("what is no whole filter of this version is refused, saying what was found", () => {
  const bytes = filled(["a"]).save();
  const changed = (at: number, value: number): Uint8Array => Uint8Array.from(bytes, (byte, index) => (index === at ? value : byte));
  expect(() => BloomFilter.load(new Uint8Array())).toThrow(/these 0 bytes do not/);
  expect(() => BloomFilter.load(changed(0, 0))).toThrow(/DKBF/);
  expect(() => BloomFilter.load(changed(4, 9))).toThrow(/layout version 9/);
  expect(() => BloomFilter.load(changed(8, 0))).toThrow(/header of this Bloom filter is damaged/);
  expect(() => BloomFilter.load(changed(23, 0xff))).toThrow(/damaged/);
  for (let length = 0; length < bytes.length; length += 1) expect(() => BloomFilter.load(bytes.subarray(0, length))).toThrow(RangeError);
  expect(() => BloomFilter.load(Buffer.concat([bytes, Buffer.alloc(4)]))).toThrow(/cut short or joined/);
});

test("filters of different sizes do not merge; options out of range are refused", () => {
  const [small, large] = [filled(["a"]), filled(["a"], { items: 1000, falsePositiveRate: 0.01 })];
  expect(() => small.union(large)).toThrow(/bits with .* hashes, and/);
  expect(() => small.intersection(large)).toThrow(RangeError);
  for (const count of [0, -1, 1.5, NaN, Infinity]) expect(() => BloomFilter.create({ items: count })).toThrow(RangeError);
  for (const falsePositiveRate of [0, 1, -0.1, NaN]) expect(() => BloomFilter.create({ items: 10, falsePositiveRate })).toThrow(RangeError);
  expect(() => BloomFilter.create({ items: 1e9, falsePositiveRate: 1e-6 })).toThrow(/use several filters/);
});
