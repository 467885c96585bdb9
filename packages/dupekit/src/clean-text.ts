import { CleanTable, cleanGenerally, type Punctuation } from "./clean-table.js";
import { kernelsFor, type Kernels } from "./wasm/kernels.js";

/** Settings of {@link cleanText}. */
export interface CleanOptions {
  /**
   * What goes: "unicode", all punctuation and symbols of Unicode, after the text was brought into normal form C; "ascii", the 32 marks of ASCII, and no normal form. Default "unicode".
   */
  readonly punctuation?: Punctuation;
}

/**
 * Text as near-duplicate detection sees it: lower case, punctuation and symbols dropped, white space runs as one space,
 * none at the ends.
 *
 * @throws RangeError for an unknown kind of punctuation
 */
export function cleanText(text: string, options: CleanOptions = {}): string {
  const punctuation = checkedPunctuation(options.punctuation);
  const kernels = kernelsFor(cleanBytes(text.length));
  if (kernels === undefined) return cleanGenerally(text, punctuation);
  const { at, units } = cleanInto(kernels, text, punctuation);
  return kernels.buffer.toString("utf16le", at, at + units * 2);
}

/** What a caller from outside TypeScript may pass, checked. */
export function checkedPunctuation(punctuation: Punctuation = "unicode"): Punctuation {
  if ((punctuation as string) !== "unicode" && (punctuation as string) !== "ascii") throw new RangeError(`punctuation is "unicode" or "ascii", found ${JSON.stringify(punctuation)}.`);
  return punctuation;
}

/** Memory that {@link cleanInto} uses for a text of so many units. */
export function cleanBytes(units: number): number {
  return units * 2 + 2 * tablesBytes + 64;
}

const tablesBytes = 0x10000 * 3;
const codes = { normalize: -1, fill: -3 } as const;
const tables = new Map<Punctuation, CleanTable>();

/** The tables of one kind in the memory of one instance. */
interface PlacedTable {
  readonly units: number;
  readonly astral: number;
}

const placed = new WeakMap<Kernels, Map<Punctuation, PlacedTable>>();

/** How far text is prepared: not at all, in normal form where that is asked for, or cleaned. */
type Prepared = 0 | 1 | 2;

/** The cleaned text in the memory of an instance, as UTF-16 from `at` on. Memory behind it is free. The text is prepared so that the kernel need know nothing more of Unicode than its tables say. */
export function cleanInto(kernels: Kernels, text: string, punctuation: Punctuation): { readonly at: number; readonly units: number } {
  const { table, place } = prepare(kernels, punctuation);
  let current = text;
  let prepared: Prepared = punctuation === "ascii" ? 1 : 0;
  for (;;) {
    write(kernels, current);
    const at = kernels.free;
    const result = kernels.run.clean(at, current.length, place.units, place.astral, prepared);
    if (result >= 0) return { at, units: result };
    if (result === codes.fill) {
      table.fill();
      load(kernels, table, place);
    } else if (result === codes.normalize) {
      current = text.normalize("NFC");
      prepared = 1;
    } else {
      current = cleanGenerally(text, punctuation);
      prepared = 2;
    }
  }
}

/** Writes text as UTF-16 to where the free memory begins. */
function write(kernels: Kernels, text: string): void {
  kernels.reserve(text.length * 2);
  kernels.buffer.write(text, kernels.free, "utf16le");
}

function prepare(kernels: Kernels, punctuation: Punctuation): { readonly table: CleanTable; readonly place: PlacedTable } {
  let table = tables.get(punctuation);
  if (table === undefined) tables.set(punctuation, (table = new CleanTable(punctuation)));
  let places = placed.get(kernels);
  if (places === undefined) placed.set(kernels, (places = new Map<Punctuation, PlacedTable>()));
  let place = places.get(punctuation);
  if (place === undefined) {
    const units = kernels.keep(tablesBytes);
    place = { units, astral: units + 0x20000 };
    places.set(punctuation, place);
    load(kernels, table, place);
  }
  return { table, place };
}

function load(kernels: Kernels, table: CleanTable, place: PlacedTable): void {
  kernels.bytes.set(new Uint8Array(table.units.buffer), place.units);
  kernels.bytes.set(table.astral, place.astral);
}
