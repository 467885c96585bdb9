import type { SchemaNode } from "./format.js";
import { listElementOf, mapEntryOf } from "./schema.js";

/** A column's values and levels, as pages hold them. */
export interface ShreddedLeaf {
  /** How much of its path is there, for each entry; undefined where all of it always is. */
  readonly definition: ArrayLike<number> | undefined;
  /** At which level each entry repeats; undefined outside of lists. */
  readonly repetition: ArrayLike<number> | undefined;
  /** The values that are there, in the form of the column's encoder. */
  readonly values: readonly unknown[];
  readonly entries: number;
}

/**
 * Takes the rows of a column apart into its leaves (S. Melnik et al., Dremel, 2010, section 4.1).
 *
 * @param node - the column
 * @param rows - what its encoder gave for each row
 */
export function shred(node: SchemaNode, rows: readonly unknown[]): ShreddedLeaf[] {
  if (node.children.length > 0) return shredNested(node, rows);
  if (node.element.repetition === "REQUIRED") return [{ definition: undefined, repetition: undefined, values: rows, entries: rows.length }];
  const definition = new Uint8Array(rows.length);
  const values: unknown[] = [];
  for (let row = 0; row < rows.length; row += 1) {
    if (rows[row] === null) continue;
    definition[row] = 1;
    values.push(rows[row]);
  }
  return [{ definition, repetition: undefined, values, entries: rows.length }];
}

interface Sink {
  readonly definition: number[];
  readonly repetition: number[];
  readonly values: unknown[];
}

type Put = (value: unknown, repetition: number) => void;

function shredNested(node: SchemaNode, rows: readonly unknown[]): ShreddedLeaf[] {
  const leaves: SchemaNode[] = [];
  const sinks: Sink[] = [];
  const below = (of: SchemaNode): readonly Sink[] => sinks.slice(of.firstLeaf - node.firstLeaf, of.firstLeaf - node.firstLeaf + of.leaves);
  const collect = (of: SchemaNode): void => {
    if (of.children.length === 0) {
      leaves.push(of);
      sinks.push({ definition: [], repetition: [], values: [] });
    }
    of.children.forEach(collect);
  };
  collect(node);

  /** Nothing is there from this node on. */
  const missing = (of: SchemaNode): ((repetition: number) => void) => {
    const under = below(of);
    const level = of.definition - 1;
    return (repetition) => {
      for (const sink of under) {
        sink.definition.push(level);
        sink.repetition.push(repetition);
      }
    };
  };
  const any = (of: SchemaNode): Put => {
    const put = required(of);
    if (of.element.repetition !== "OPTIONAL") return put;
    const none = missing(of);
    return (value, repetition) => (value === null ? none(repetition) : put(value, repetition));
  };
  const required = (of: SchemaNode): Put => {
    const group = of.children[0];
    const element = listElementOf(of);
    if (group !== undefined && element !== undefined) return repeated(group, any(element));
    const map = mapEntryOf(of);
    if (map !== undefined) {
      const [key, item] = [any(map.key), any(map.value)];
      return repeated(map.entry, (value, repetition) => {
        const pair = value as { readonly key: unknown; readonly value: unknown };
        key(pair.key, repetition);
        item(pair.value, repetition);
      });
    }
    if (of.children.length > 0) {
      const fields = of.children.map((child) => [child.element.name, any(child)] as const);
      return (value, repetition) => {
        for (const [name, put] of fields) put((value as Readonly<Record<string, unknown>>)[name], repetition);
      };
    }
    const [sink] = below(of) as [Sink];
    return (value, repetition) => {
      sink.definition.push(of.definition);
      sink.repetition.push(repetition);
      sink.values.push(value);
    };
  };
  const repeated = (group: SchemaNode, item: Put): Put => {
    const none = missing(group);
    return (value, repetition) => {
      const items = value as readonly unknown[];
      if (items.length === 0) none(repetition);
      for (let index = 0; index < items.length; index += 1) item(items[index], index === 0 ? repetition : group.repetition);
    };
  };

  const put = any(node);
  for (const row of rows) put(row, 0);
  return sinks.map(({ definition, repetition, values }, index) => {
    const leaf = leaves[index] as SchemaNode;
    return { definition: leaf.definition === 0 ? undefined : definition, repetition: leaf.repetition === 0 ? undefined : repetition, values, entries: definition.length };
  });
}
