import type { ExprLiteral, ExprNode } from "./types.js";

/** An expression as text, for plans and messages: `score > 0.5 and lang in ["en", "de"]`. */
export function formatExpr(node: ExprNode): string {
  switch (node.kind) {
    case "column":
      return nameOf(node.name);
    case "field":
      return `${inner(node.of)}.${nameOf(node.name)}`;
    case "literal":
      return formatLiteral(node.value);
    case "compare":
    case "arithmetic":
      return `${inner(node.left)} ${node.operator} ${inner(node.right)}`;
    case "and":
    case "or":
      return `${inner(node.left, node.kind)} ${node.kind} ${inner(node.right, node.kind)}`;
    case "not":
      return `not ${inner(node.of)}`;
    case "isNull":
      return `${inner(node.of)} is null`;
    case "isIn":
      return `${inner(node.of)} in [${node.values.map(formatLiteral).join(", ")}]`;
  }
}

/** An operand, in parentheses where it has operators of its own; comparisons need none inside "and" and "or", nor does more of the same. */
function inner(node: ExprNode, around?: "and" | "or"): string {
  const plain = node.kind === "column" || node.kind === "field" || node.kind === "literal";
  const clear = around !== undefined && (node.kind === around || node.kind === "compare" || node.kind === "not" || node.kind === "isNull" || node.kind === "isIn");
  return plain || clear ? formatExpr(node) : `(${formatExpr(node)})`;
}

function nameOf(name: string): string {
  return /^[\p{L}_][\p{L}\p{N}_]*$/u.test(name) ? name : JSON.stringify(name);
}

function formatLiteral(value: ExprLiteral): string {
  if (typeof value === "string") return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value);
  if (typeof value === "bigint") return `${String(value)}n`;
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? "an invalid date" : value.toISOString();
  return value instanceof Uint8Array ? `0x${Buffer.from(value.subarray(0, 30)).toString("hex")}` : String(value);
}
