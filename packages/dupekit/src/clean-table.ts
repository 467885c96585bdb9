/** Which punctuation goes: all of Unicode's with its symbols, or the 32 marks of ASCII. */
export type Punctuation = "unicode" | "ascii";

// What the kernel's table says beside what a unit becomes. No unit becomes one of these.
const surrogate = 0xd800;
const unstable = 0xd801;
const special = 0xd802;
const unknown = 0xd803;
const nothing = 0xd804;
/** What it says of the characters of the supplementary plane 1. */
const astral = { kept: 0, dropped: 1, unstable: 2, special: 3 } as const;

const planeStart = 0x10000;
/** Ranges in which every character stays as it is: ideographs, Hangul syllables, private use. */
const plain = [[0x3400, 0x4dbf], [0x4e00, 0x9fff], [0xac00, 0xd7a3], [0xe000, 0xf8ff]] as const;
/** Letters that combine with the one before them, as marks do: Hangul vowels and finals, Kirat Rai vowels. */
const combining = [[0x1160, 0x11ff], [0xd7b0, 0xd7ff], [0x16d60, 0x16d7f]] as const;

/** Text as near-duplicate detection sees it, by the engine's own functions: what the tables and the kernel must agree with. */
export function cleanGenerally(text: string, punctuation: Punctuation): string {
  const lower = (punctuation === "unicode" ? text.normalize("NFC") : text).toLowerCase();
  return lower.replace(dropped[punctuation], "").replace(/\s+/gu, " ").trim();
}

const dropped = { unicode: /[\p{P}\p{S}]/gu, ascii: /[!-/:-@[-`{-~]/gu } as const;

/** Says what cleaning makes of each character, so that a kernel need not know Unicode. Made from the engine's own knowledge of it. */
export class CleanTable {
  /** For each UTF-16 code unit. */
  readonly units = new Uint16Array(0x10000).fill(unknown);
  /** For each character of plane 1, valid once all is filled. */
  readonly astral = new Uint8Array(0x10000);
  readonly #punctuation: Punctuation;
  #isFull = false;

  constructor(punctuation: Punctuation) {
    this.#punctuation = punctuation;
    this.units.fill(surrogate, 0xd800, 0xe000);
    // What most text of Latin script needs. The rest takes some hundredths of a second, so it waits until a text holds more.
    this.#fillUnits(0, 0x250);
    this.#fillUnits(0x2000, 0x2070);
    this.units.fill(unknown, 0xd800, 0xdc00);
  }

  /** Fills in all that is unknown. */
  fill(): void {
    if (this.#isFull) return;
    this.units.fill(surrogate, 0xd800, 0xdc00);
    this.#fillUnits(0, 0xd800);
    this.#fillUnits(0xe000, 0x10000);
    for (let offset = 0; offset < 0x10000; offset += 1) this.astral[offset] = this.#astralKind(planeStart + offset);
    this.#isFull = true;
  }

  #fillUnits(from: number, to: number): void {
    for (let unit = from; unit < to; unit += 1) if (this.units[unit] === unknown) this.units[unit] = isIn(plain, unit) ? unit : this.#unitValue(unit);
  }

  #unitValue(unit: number): number {
    const character = String.fromCharCode(unit);
    if (/\s/u.test(character)) return 32;
    const lower = character.toLowerCase();
    // A capital sigma becomes one of two letters, by what stands around it.
    const isSpecial = lower.length !== 1 || character === "Σ";
    if (this.#isUnstable(character, unit)) return isSpecial || lower !== character ? special : unstable;
    if (this.#isDropped(character)) return nothing;
    return isSpecial ? special : lower.charCodeAt(0);
  }

  #astralKind(point: number): number {
    const character = String.fromCodePoint(point);
    const isChanged = character.toLowerCase() !== character;
    if (this.#isUnstable(character, point)) return isChanged || this.#isDropped(character) ? astral.special : astral.unstable;
    if (this.#isDropped(character)) return astral.dropped;
    return isChanged ? astral.special : astral.kept;
  }

  #isDropped(character: string): boolean {
    return character.search(dropped[this.#punctuation]) === 0;
  }

  /** Whether normal form C may change the character, or put it together with the one before it. */
  #isUnstable(character: string, point: number): boolean {
    return this.#punctuation === "unicode" && (/\p{M}/u.test(character) || isIn(combining, point) || character.normalize("NFC") !== character);
  }
}

function isIn(ranges: readonly (readonly [number, number])[], value: number): boolean {
  return ranges.some(([from, to]) => value >= from && value <= to);
}
