import fc from "fast-check";
import { expect, test } from "vitest";
import { KneserNeyModel } from "./kneser-ney.js";

const end = 256;

async function* bytesOf(documents: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const document of documents) yield await Promise.resolve(Buffer.from(document));
}

function train(documents: readonly string[], order: number): Promise<KneserNeyModel> {
  return KneserNeyModel.train(bytesOf(documents), { order });
}

const code = (character: string): number => character.charCodeAt(0);

test("unigram worked out by hand", async () => {
  // Counts: end, a, b once; c, d twice; e three times; f four times: n1 = 3, n2 = 2, n3 = 1, n4 = 1 and 14 symbols.
  // Y = 3/7; D1 = 1 − 2·(3/7)·(2/3) = 3/7; D2 = 2 − 3·(3/7)·(1/2) = 19/14; D3 = 3 − 4·(3/7)·1 = 9/7.
  // γ = (3·3/7 + 2·19/14 + 2·9/7) / 14 = 23/49.
  const model = await train(["abccddeeeffff"], 1);
  const rest = 23 / 49 / 257;
  expect(model.probability([], code("a"))).toBeCloseTo((1 - 3 / 7) / 14 + rest, 14);
  expect(model.probability([], end)).toBeCloseTo((1 - 3 / 7) / 14 + rest, 14);
  expect(model.probability([], code("d"))).toBeCloseTo((2 - 19 / 14) / 14 + rest, 14);
  expect(model.probability([], code("e"))).toBeCloseTo((3 - 9 / 7) / 14 + rest, 14);
  expect(model.probability([], code("f"))).toBeCloseTo((4 - 9 / 7) / 14 + rest, 14);
  expect(model.probability([], code("z"))).toBeCloseTo(rest, 14);
});

test("bigram worked out by hand: the shorter history counts preceding symbols", async () => {
  // "aab" and "ab": bigrams (start,a) 2, (a,a) 1, (a,b) 2, (b,end) 2. n4 = 0, so D = 0.5, 1, 1.5 at both lengths.
  // a is preceded by {start, a}, b by {a}, the end by {b}: of 4, p(a) = (2−1)/4 + g, p(b) = p(end) = (1−0.5)/4 + g with g = (1 + 0.5 + 0.5)/4/257.
  const model = await train(["aab", "ab"], 2);
  const g = 2 / 4 / 257;
  const [pa, pb] = [0.25 + g, 0.125 + g];
  expect(model.probability([], code("a"))).toBeCloseTo(pa, 14);
  expect(model.probability([], end)).toBeCloseTo(pb, 14);
  // After a: a once, b twice, 3 in all: γ = (0.5 + 1)/3.
  expect(model.probability([code("a")], code("b"))).toBeCloseTo((2 - 1) / 3 + 0.5 * pb, 14);
  expect(model.probability([code("a")], code("a"))).toBeCloseTo((1 - 0.5) / 3 + 0.5 * pa, 14);
  // At a document's start, which is history 256: a twice.
  expect(model.probability([end], code("a"))).toBeCloseTo((2 - 1) / 2 + 0.5 * pa, 14);
  // A history never seen leaves the shorter one.
  expect(model.probability([code("z")], code("a"))).toBeCloseTo(pa, 14);
});

/** The definition, straight from sets and maps of strings; symbols are written as letters, "^" is start and end. */
class SlowModel {
  readonly #counts: Map<string, number>[] = [];

  constructor(documents: readonly string[], order: number) {
    const grams = (length: number): string[] =>
      documents.flatMap((document) => {
        const symbols = `^${document}^`;
        const list = [];
        // Every event has the longest history of at most length − 1 symbols that the document gives it.
        for (let event = 1; event < symbols.length; event += 1) if (event - length + 1 >= 0) list.push(symbols.slice(event - length + 1, event + 1));
        return list;
      });
    for (let length = 1; length <= order; length += 1) {
      const counts = new Map<string, number>();
      const before = new Map<string, Set<string>>();
      for (const gram of grams(length)) counts.set(gram, (counts.get(gram) ?? 0) + 1);
      for (const gram of grams(length + 1)) before.set(gram.slice(1), (before.get(gram.slice(1)) ?? new Set()).add(gram.charAt(0)));
      for (const gram of counts.keys()) {
        const beginsDocument = length > 1 && gram.startsWith("^");
        if (length < order && !beginsDocument) counts.set(gram, (before.get(gram) as Set<string>).size);
      }
      this.#counts[length] = counts;
    }
  }

  probability(history: string, symbol: string): number {
    return this.#recurse(history.slice(Math.max(0, history.length - this.#counts.length + 2)), symbol);
  }

  #recurse(history: string, symbol: string): number {
    const counts = this.#counts[history.length + 1] as Map<string, number>;
    const shorter = history === "" ? 1 / 257 : this.#recurse(history.slice(1), symbol);
    const seen = [...counts].filter(([gram]) => gram.slice(0, -1) === history);
    if (seen.length === 0) return shorter;
    const discount = this.#discount(counts);
    const total = seen.reduce((sum, [, count]) => sum + count, 0);
    const taken = seen.reduce((sum, [, count]) => sum + discount(count), 0);
    const count = counts.get(history + symbol) ?? 0;
    return (count - (count === 0 ? 0 : discount(count))) / total + (taken / total) * shorter;
  }

  #discount(counts: ReadonlyMap<string, number>): (count: number) => number {
    const [n1, n2, n3, n4] = [1, 2, 3, 4].map((wanted) => [...counts.values()].filter((count) => count === wanted).length) as [number, number, number, number];
    const y = n1 / (n1 + 2 * n2);
    const d = [1 - (2 * y * n2) / n1, 2 - (3 * y * n3) / n2, 3 - (4 * y * n4) / n3];
    const usable = d.every((value, i) => Number.isFinite(value) && value > 0 && value <= i + 1);
    return (count) => (usable ? d : [0.5, 1, 1.5])[Math.min(count, 3) - 1] as number;
  }
}

const corpus = fc.array(fc.string({ unit: fc.constantFrom("a", "b", "c", "d"), minLength: 1, maxLength: 60 }), { minLength: 1, maxLength: 8 });

test("probabilities and bits are those of the definition, for every order", async () => {
  await fc.assert(
    fc.asyncProperty(corpus, fc.integer({ min: 1, max: 6 }), fc.string({ unit: fc.constantFrom("a", "b", "c", "d", "e"), maxLength: 12 }), async (documents, order, scored) => {
      const model = await train(documents, order);
      const slow = new SlowModel(documents, order);
      let bits = 0;
      const symbols = `^${scored}^`;
      for (let event = 1; event < symbols.length; event += 1) {
        const expected = slow.probability(symbols.slice(0, event), symbols.charAt(event));
        const history = Array.from(symbols.slice(0, event), (symbol) => (symbol === "^" ? end : code(symbol)));
        const symbol = symbols.charAt(event) === "^" ? end : code(symbols.charAt(event));
        expect(Math.abs(model.probability(history, symbol) / expected - 1)).toBeLessThan(1e-12);
        bits -= Math.log2(expected);
      }
      expect(model.documentBits(Buffer.from(scored))).toBeCloseTo(bits, 8);
    }),
  );
});

test("the probabilities of the 257 symbols sum to one after any history, seen or not", async () => {
  const documents = ["It was the best of times, it was the worst of times, ", "it was the age of wisdom, it was the age of foolishness …"];
  for (const order of [3, 5]) {
    const model = await train(documents, order);
    const seen = fc.tuple(fc.constantFrom(...documents), fc.nat(), fc.nat()).map(([text, a, b]) => [end, ...Buffer.from(text)].slice(Math.min(a, b) % 50, Math.max(a, b) % 50));
    const any = fc.array(fc.integer({ min: 0, max: 255 }), { maxLength: 7 });
    fc.assert(
      fc.property(fc.oneof(seen, any), (history) => {
        const probabilities = Array.from({ length: 257 }, (_, symbol) => model.probability(history, symbol));
        expect(Math.min(...probabilities)).toBeGreaterThan(0);
        expect(Math.abs(probabilities.reduce((sum, probability) => sum + probability, 0) - 1)).toBeLessThan(1e-12);
      }),
    );
  }
});

test("no text is impossible, even where the estimate of a discount is exactly zero", async () => {
  // Documents of one letter: each gives two bigrams. n1 = 12, n2 = 6, n3 = 8, n4 = 2: Y = 1/2 and D2 = 2 − 3·(1/2)·(8/6) = 0.
  const times = (letters: string, count: number): string[] => Array.from({ length: count }, () => letters.split("")).flat();
  const model = await train([...times("abcdef", 1), ...times("ghi", 2), ...times("jklm", 3), ...times("n", 4)], 2);
  expect(model.probability([code("g")], code("a"))).toBeGreaterThan(0);
  expect(model.documentBits(Buffer.from("ga"))).toBeLessThan(100);
});

test("counting in several chunks gives what the definition gives", async () => {
  // 3.1 million symbols: three sorted chunks are merged. After "ab" come c and d, equally often; counts above 3 are discounted by 1.5.
  const document = "abcabd".repeat(5200);
  const each = 5200 * 100;
  const model = await train(Array.from({ length: 100 }, () => document), 3);
  const [a, b, c] = ["a", "b", "c"].map(code) as [number, number, number];
  expect(model.probability([a, b], c)).toBeCloseTo((each - 1.5) / (2 * each) + (3 / (2 * each)) * model.probability([b], c), 12);
  // Of every three symbols one is uncertain, c or d, and costs a bit.
  expect(model.documentBits(Buffer.from(document)) / document.length).toBeCloseTo(1 / 3, 2);
});

test("an order that cannot be counted and an empty corpus are refused; an aborted signal stops the work", async () => {
  await expect(train(["a"], 7)).rejects.toMatchObject({ code: "MARIN_NGRAM_ORDER", data: { order: 7 } });
  await expect(train(["a"], 0)).rejects.toMatchObject({ code: "MARIN_NGRAM_ORDER" });
  await expect(train([], 3)).rejects.toMatchObject({ code: "MARIN_NO_DOCUMENTS" });
  const large = ["ab".repeat(600_000)];
  await expect(KneserNeyModel.train(bytesOf(large), { order: 3, signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});
