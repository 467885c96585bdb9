import { bruteForceJaccard, RealEdits, RealTexts } from "./real-texts.js";

/** A document of a labelled set. */
export interface Labelled {
  readonly id: string;
  readonly text: string;
  /** Documents of one group say the same, documents of different groups do not. */
  readonly group: number;
}

/** Speeches quote earlier ones, sometimes for a page. Tells such texts, by their words alone, so that what is labelled as distinct is. */
class Quotations {
  readonly #texts: string[] = [];
  readonly #holders = new Map<string, number[]>();

  /** Whether the text is mostly one that was asked about before. */
  quotes(text: string): boolean {
    const words = text.split(" ");
    const shared = new Map<number, number>();
    for (let start = 0; start + 4 <= words.length; start += 1) {
      const phrase = words.slice(start, start + 4).join(" ");
      const holders = this.#holders.get(phrase) ?? [];
      for (const holder of holders) shared.set(holder, (shared.get(holder) ?? 0) + 1);
      // A phrase of so many texts is a turn of speech.
      if (holders.length < 20) this.#holders.set(phrase, [...holders, this.#texts.length]);
    }
    const isQuotation = [...shared].some(([other, phrases]) => phrases > words.length / 5 && bruteForceJaccard(text, this.#texts[other] ?? "", { unit: "word", size: 3 }) > 0.25);
    this.#texts.push(text);
    return isQuotation;
  }
}

/** Real texts, and one copy of each with an edit of each of five strengths, by the name of the edit. */
export function labelledSet(seed: number, count: number, words: number): { readonly originals: readonly Labelled[]; readonly copies: Readonly<Record<string, readonly Labelled[]>> } {
  const texts = new RealTexts();
  const quotations = new Quotations();
  const originals: Labelled[] = [];
  for (let group = 0; group < count; ) {
    const text = texts.prose(words);
    if (quotations.quotes(text)) continue;
    originals.push({ id: String(group), text, group });
    group += 1;
  }
  const edits = new RealEdits(seed, originals.map(({ text }) => text).join(" "));
  const copies = Object.fromEntries(Object.entries(edits.edits).map(([name, edit]) => [name, originals.map(({ id, text, group }) => ({ id: `${id} ${name}`, text: edit(text), group }))]));
  return { originals, copies };
}

/** What a templated set consists of. */
export interface TemplatedOptions {
  readonly documents: number;
  /** Words of a document, and the share of them that is the same in all. */
  readonly words: number;
  readonly share: number;
  /** Words of the one very long document. */
  readonly longWords: number;
  /** Edited copies, and how many of the five strengths of edit they have in turn, the weakest first. */
  readonly copies: number;
  readonly strengths: number;
}

/** Distinct documents of which so much is the same text, one very long document, and edited copies of some. */
export function templatedSet(seed: number, options: TemplatedOptions): Labelled[] {
  const { documents, copies, words, share, longWords, strengths } = options;
  const texts = new RealTexts();
  const [common, own] = [Math.round(words * share), Math.round(words * (1 - share))];
  const [header, middle, footer] = [texts.prose(Math.round(common * 0.5)), texts.prose(Math.round(common * 0.3)), texts.prose(Math.round(common * 0.2))];
  const half = Math.round(own / 2);
  const distinct = Array.from({ length: documents }, (_, group) => ({ id: String(group), text: `${header} ${texts.prose(half)} ${middle} ${texts.prose(own - half)} ${footer}`, group }));
  const long = { id: "long", text: texts.prose(longWords), group: documents };
  const edits = new RealEdits(seed, `${header} ${long.text}`);
  const kinds = Object.values(edits.edits).slice(0, strengths);
  const planted = Array.from({ length: copies }, (_, index) => {
    const group = Math.floor((index * documents) / copies);
    return { id: `${String(group)} copy`, text: kinds[index % kinds.length]?.(distinct[group]?.text ?? "") ?? "", group };
  });
  return [...distinct, long, ...planted];
}
