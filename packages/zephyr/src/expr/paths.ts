import type { ExprLiteral, ExprNode } from "./types.js";

/** The columns that an expression looks at, each once, sorted. */
export function columnsOf(node: ExprNode): string[] {
  return [...new Set(pathsOf(node).map(([column]) => column))].sort();
}

/** The columns and the fields inside them that an expression looks at. */
export function pathsOf(node: ExprNode): (readonly [column: string, ...fields: string[]])[] {
  const path = pathOf(node);
  return path === undefined ? operandsOf(node).flatMap(pathsOf) : [path];
}

/** The path of a column, or of a field in one; undefined for everything else. */
export function pathOf(node: ExprNode): readonly [column: string, ...fields: string[]] | undefined {
  if (node.kind === "column") return [node.name];
  if (node.kind !== "field") return undefined;
  const around = pathOf(node.of);
  return around === undefined ? undefined : [...around, node.name];
}

/** The expression with columns replaced by values that are known: the path of the file that is read. */
export function withKnown(node: ExprNode, known: ReadonlyMap<string, ExprLiteral>): ExprNode {
  switch (node.kind) {
    case "column": {
      const value = known.get(node.name);
      return value === undefined ? node : { kind: "literal", value };
    }
    case "literal":
      return node;
    case "compare":
    case "arithmetic":
    case "and":
    case "or":
      return { ...node, left: withKnown(node.left, known), right: withKnown(node.right, known) };
    case "field":
    case "not":
    case "isNull":
    case "isIn":
      return { ...node, of: withKnown(node.of, known) };
  }
}

function operandsOf(node: ExprNode): readonly ExprNode[] {
  switch (node.kind) {
    case "column":
    case "literal":
      return [];
    case "compare":
    case "arithmetic":
    case "and":
    case "or":
      return [node.left, node.right];
    case "field":
    case "not":
    case "isNull":
    case "isIn":
      return [node.of];
  }
}
