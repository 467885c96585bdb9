/** A value that stands in an expression as it is. */
export type ExprLiteral = null | boolean | number | bigint | string | Date | Uint8Array;

/** How two values are compared. */
export type CompareOperator = "==" | "!=" | "<" | "<=" | ">" | ">=";

/** How two numbers are combined. */
export type ArithmeticOperator = "+" | "-" | "*" | "/" | "%";

/**
 * An expression over a record as plain data: it can be cloned, sent to a worker and printed. Made by `col` and `lit`;
 * README.md has the rules of its values.
 */
export type ExprNode =
  | { readonly kind: "column"; readonly name: string }
  | { readonly kind: "field"; readonly of: ExprNode; readonly name: string }
  | { readonly kind: "literal"; readonly value: ExprLiteral }
  | { readonly kind: "compare"; readonly operator: CompareOperator; readonly left: ExprNode; readonly right: ExprNode }
  | { readonly kind: "arithmetic"; readonly operator: ArithmeticOperator; readonly left: ExprNode; readonly right: ExprNode }
  | { readonly kind: "and" | "or"; readonly left: ExprNode; readonly right: ExprNode }
  | { readonly kind: "not"; readonly of: ExprNode }
  | { readonly kind: "isNull"; readonly of: ExprNode }
  | { readonly kind: "isIn"; readonly of: ExprNode; readonly values: readonly ExprLiteral[] };
