import { MarinError } from "@marin/iris";
import { formatExpr } from "./format.js";
import { columnsOf } from "./paths.js";
import type { ExprNode } from "./types.js";

/** What the operations of a dataset tell of themselves; a plan's records of them are such. */
export type PushableOperation =
  | { readonly kind: "filter"; readonly expr?: ExprNode }
  | { readonly kind: "select"; readonly columns: readonly string[] }
  | { readonly kind: "count" }
  | { readonly kind: string };

/** What a source need not read. */
export interface Pushdown {
  /** The columns that somebody looks at. Absent: all. */
  readonly columns?: readonly string[];
  /** What every record that is kept fulfils: the source may leave out others, and need not. */
  readonly filter?: ExprNode;
  /** The columns that operations name, whether they are read or not. Absent: none names any. */
  readonly named?: readonly string[];
}

/**
 * What the operations right behind a source say about what need not be read: `filter` with an expression, `select` and
 * `count`, up to the first function, which may look at everything. The operations still run afterwards.
 *
 * @param operations - in their order
 * @throws MarinError ZEPHYR_NO_COLUMN when an expression or a `select` names a column that a `select` before it left out
 */
export function pushdown(operations: readonly PushableOperation[]): Pushdown {
  const looked = new Set<string>();
  let selected: readonly string[] | undefined;
  let filter: ExprNode | undefined;
  const named: string[][] = [];
  for (const operation of operations) {
    if (isSelect(operation)) {
      requireSelected(selected, operation.columns, `select(${operation.columns.map((name) => JSON.stringify(name)).join(", ")})`);
      selected = operation.columns;
      named.push([...operation.columns]);
    } else if (isExprFilter(operation)) {
      const columns = columnsOf(operation.expr);
      named.push(columns);
      requireSelected(selected, columns, `the filter ${formatExpr(operation.expr)}`);
      for (const column of columns) looked.add(column);
      filter = filter === undefined ? operation.expr : { kind: "and", left: filter, right: operation.expr };
    } else {
      if (operation.kind === "count") selected = [];
      break;
    }
  }
  return {
    ...(selected === undefined ? {} : { columns: [...new Set([...selected, ...looked])] }),
    ...(filter === undefined ? {} : { filter }),
    ...(named.length === 0 ? {} : { named: [...new Set(named.flat())] }),
  };
}

function isSelect(operation: PushableOperation): operation is { readonly kind: "select"; readonly columns: readonly string[] } {
  return operation.kind === "select" && "columns" in operation;
}

function isExprFilter(operation: PushableOperation): operation is { readonly kind: "filter"; readonly expr: ExprNode } {
  return operation.kind === "filter" && "expr" in operation && operation.expr !== undefined;
}

function requireSelected(selected: readonly string[] | undefined, columns: readonly string[], by: string): void {
  const missing = selected === undefined ? undefined : columns.find((column) => !selected.includes(column));
  if (missing === undefined) return;
  throw new MarinError("ZEPHYR_NO_COLUMN", `${by} names the column "${missing}", which the select() before it leaves out: it keeps ${(selected ?? []).join(", ")}.`, {
    data: { column: missing, columns: [...(selected ?? [])] },
  });
}
