import type { SchemaNode } from "./format.js";
import type { Levels } from "./levels.js";
import { listElementOf, mapEntryOf } from "./schema.js";
import type { ParquetValue } from "./types.js";

/** A column's entries, and which of them is next. */
export class LeafCursor {
  readonly #definition: Levels | undefined;
  readonly #repetition: Levels | undefined;
  readonly #values: ArrayLike<ParquetValue>;
  readonly #entries: number;
  readonly #most: number;
  #entry = 0;
  #value = 0;

  constructor(leaf: SchemaNode, { definition, repetition, entries }: { readonly definition: Levels | undefined; readonly repetition: Levels | undefined; readonly entries: number }, values: ArrayLike<ParquetValue>) {
    this.#definition = definition;
    this.#repetition = repetition;
    this.#values = values;
    this.#entries = entries;
    this.#most = leaf.definition;
  }

  /** Whether all entries were read. */
  get ended(): boolean {
    return this.#entry === this.#entries && this.#value === this.#values.length;
  }

  /** How much of the next entry's path is there. */
  get definition(): number {
    return this.#definition === undefined ? this.#most : (this.#definition[this.#entry] ?? 0);
  }

  /** Whether the next entry goes on with a list of this level. */
  repeats(level: number): boolean {
    return this.#entry < this.#entries && (this.#repetition?.[this.#entry] ?? 0) === level;
  }

  /** The next entry's value. @throws Error where levels and values do not agree */
  next(): ParquetValue {
    this.#entry += 1;
    const value = this.#values[this.#value++];
    if (value === undefined) throw new Error("there are fewer values than its levels say");
    return value;
  }

  /** Passes over an entry that has no value. */
  skip(): void {
    this.#entry += 1;
  }

  /** Passes over rows. */
  skipRows(rows: number): void {
    for (let row = 0; row < rows; row += 1) {
      do {
        if (this.definition === this.#most) this.#value += 1;
        this.#entry += 1;
      } while (this.#entry < this.#entries && (this.#repetition?.[this.#entry] ?? 0) > 0);
    }
  }
}

type ValueReader = () => ParquetValue;

/**
 * Makes what reads a column's values one row after the other (S. Melnik et al., Dremel, 2010, section 4.2).
 *
 * @param node - the column
 * @param cursors - of all leaves of the schema, by their place in it; those below the column are read
 */
export function rowReader(node: SchemaNode, cursors: readonly (LeafCursor | undefined)[]): ValueReader {
  const below = (of: SchemaNode): LeafCursor[] => cursors.slice(of.firstLeaf, of.firstLeaf + of.leaves) as LeafCursor[];

  const any = (of: SchemaNode): ValueReader => {
    if (of.element.repetition === "REPEATED") return repeated(of, required(of));
    const read = required(of);
    if (of.element.repetition === "REQUIRED") return read;
    const leaves = below(of);
    const [first] = leaves as [LeafCursor];
    return () => {
      if (first.definition >= of.definition) return read();
      for (const leaf of leaves) leaf.skip();
      return null;
    };
  };

  const required = (of: SchemaNode): ValueReader => {
    const element = listElementOf(of);
    const group = of.children[0];
    if (element !== undefined && group !== undefined) return repeated(group, element === group ? required(group) : any(element));
    const map = mapEntryOf(of);
    if (map !== undefined) {
      const [key, value] = [any(map.key), any(map.value)];
      const entries = repeated(map.entry, () => [key(), value()]);
      return () => new Map(entries() as [ParquetValue, ParquetValue][]);
    }
    if (of.children.length > 0) {
      const fields = of.children.map((child) => [child.element.name, any(child)] as const);
      return () => Object.fromEntries(fields.map(([name, read]) => [name, read()]));
    }
    const [leaf] = below(of) as [LeafCursor];
    return () => leaf.next();
  };

  const repeated = (group: SchemaNode, item: ValueReader): ValueReader => {
    const leaves = below(group);
    const [first] = leaves as [LeafCursor];
    return () => {
      const items: ParquetValue[] = [];
      if (first.definition < group.definition) {
        for (const leaf of leaves) leaf.skip();
        return items;
      }
      do items.push(item());
      while (first.repeats(group.repetition));
      return items;
    };
  };

  return any(node);
}
