import { DocumentFrequencies } from "./document-frequencies.js";
import { murmur3Words } from "./hash.js";
import { distinct } from "./shingle.js";
import { shingleWords } from "./sketch.js";

/** Where less than this share of the documents with a shingle go on from it in one and the same way, they are filled in there. */
const dominantShare = 0.5;

/** Common shingles in a row that are template: fewer are a phrase that fillings have in common. */
const templateStretch = 4;

/** The most documents that have one and the same shingle next to a common one. */
interface Neighbours {
  before: number;
  after: number;
}

/**
 * Tells words that fill in a template from words of the template: after (or before) text that many documents share, most of these documents go on in
 * different ways. Where most go on alike, a document that does not was edited there.
 */
export class TemplateSlots {
  readonly #frequencies: DocumentFrequencies;
  readonly #commonAbove: number;
  readonly #neighbours = new Map<number, Neighbours>();
  readonly #masks = new WeakMap<Uint32Array, Uint8Array>();

  /**
   * @param sequences - the shingles of all documents, in order
   * @param frequencies - in how many documents each occurs
   * @param commonAbove - a shingle in more documents than this is common
   */
  constructor(sequences: Iterable<Uint32Array>, frequencies: DocumentFrequencies, commonAbove: number) {
    this.#frequencies = frequencies;
    this.#commonAbove = commonAbove;
    const pairs = new DocumentFrequencies();
    const all = [...sequences];
    for (const sequence of all) pairs.add(distinct(Uint32Array.from(this.#pairs(sequence), ({ pair }) => pair)));
    for (const sequence of all) {
      for (const { at, pair } of this.#pairs(sequence)) {
        const documents = pairs.of(pair);
        const [left, right] = [this.#meet(sequence[at] ?? 0), this.#meet(sequence[at + 1] ?? 0)];
        left.after = Math.max(left.after, documents);
        right.before = Math.max(right.before, documents);
      }
    }
  }

  /** One number a word, 1 where it fills in a template. */
  mask(sequence: Uint32Array): Uint8Array {
    let mask = this.#masks.get(sequence);
    if (mask === undefined) {
      mask = this.#mark(sequence);
      this.#masks.set(sequence, mask);
    }
    return mask;
  }

  /** Neighbouring shingles of which one is common, each pair as one hash. */
  *#pairs(sequence: Uint32Array): Generator<{ at: number; pair: number }> {
    let isCommon = false;
    for (let at = 0; at < sequence.length; at += 1) {
      const wasCommon = isCommon;
      isCommon = this.#frequencies.of(sequence[at] ?? 0) > this.#commonAbove;
      if (at > 0 && (isCommon || wasCommon)) yield { at: at - 1, pair: murmur3Words(sequence, at - 1, at + 1, 0) };
    }
  }

  #meet(shingle: number): Neighbours {
    let neighbours = this.#neighbours.get(shingle);
    if (neighbours === undefined) {
      neighbours = { before: 0, after: 0 };
      this.#neighbours.set(shingle, neighbours);
    }
    return neighbours;
  }

  #mark(sequence: Uint32Array): Uint8Array {
    const mask = new Uint8Array(sequence.length + shingleWords - 1);
    const template = new Uint8Array(mask.length);
    let stretch = 0;
    for (let at = 0; at < sequence.length; at += 1) {
      const documents = this.#frequencies.of(sequence[at] ?? 0);
      stretch = documents > this.#commonAbove ? stretch + 1 : 0;
      if (stretch >= templateStretch) template.fill(1, at - stretch + 1, at + shingleWords);
      if (stretch === 0) continue;
      const { before, after } = this.#meet(sequence[at] ?? 0);
      if (after < dominantShare * documents && at + shingleWords < mask.length) mask[at + shingleWords] = 1;
      if (before < dominantShare * documents && at > 0) mask[at - 1] = 1;
    }
    // What is filled in goes on until the template does.
    for (let word = 1; word < mask.length; word += 1) if (template[word] === 0 && mask[word - 1] === 1 && template[word - 1] === 0) mask[word] = 1;
    for (let word = mask.length - 2; word >= 0; word -= 1) if (template[word] === 0 && mask[word + 1] === 1 && template[word + 1] === 0) mask[word] = 1;
    return mask;
  }
}
