import { MarinError } from "@marin/iris";
import { kindOf } from "./order.js";
import type { ArithmeticOperator, CompareOperator, ExprLiteral, ExprNode } from "./types.js";

/** What stands on the other side of an operator: an expression, or a value as it is. */
export type ExprOperand = Expr | ExprLiteral;

/**
 * An expression over a record. Made by {@link col} and {@link lit}, combined by its methods, used by `Dataset.filter`; unlike a
 * function it is plain data, so that readers can look at it and pass over what cannot match.
 *
 * A missing column or field is null. A comparison and a calculation with null give null; `and`, `or`, `not` follow the
 * three-valued logic of SQL; a filter keeps a record when the result is true. Numbers and bigints compare by value, text
 * by code points (the order of its UTF-8 bytes), bytes by their values, dates by time; NaN equals nothing. Whatever else is compared or calculated is
 * an error, MarinError ZEPHYR_BAD_EXPRESSION: a decimal, which is text, with a number, for example.
 */
export class Expr {
  /** The expression as plain data. */
  readonly node: ExprNode;

  /** @param node - the expression as plain data */
  constructor(node: ExprNode) {
    this.node = node;
  }

  /** Equal. */
  eq(other: ExprOperand): Expr {
    return this.#compare("==", other);
  }

  /** Not equal. */
  ne(other: ExprOperand): Expr {
    return this.#compare("!=", other);
  }

  /** Less than. */
  lt(other: ExprOperand): Expr {
    return this.#compare("<", other);
  }

  /** Less than, or equal. */
  le(other: ExprOperand): Expr {
    return this.#compare("<=", other);
  }

  /** Greater than. */
  gt(other: ExprOperand): Expr {
    return this.#compare(">", other);
  }

  /** Greater than, or equal. */
  ge(other: ExprOperand): Expr {
    return this.#compare(">=", other);
  }

  /** The sum. */
  add(other: ExprOperand): Expr {
    return this.#calculate("+", other);
  }

  /** The difference. */
  sub(other: ExprOperand): Expr {
    return this.#calculate("-", other);
  }

  /** The product. */
  mul(other: ExprOperand): Expr {
    return this.#calculate("*", other);
  }

  /** The quotient; of bigints without its fraction. */
  div(other: ExprOperand): Expr {
    return this.#calculate("/", other);
  }

  /** The remainder, with the sign of this side. */
  mod(other: ExprOperand): Expr {
    return this.#calculate("%", other);
  }

  /** True when both are. */
  and(other: ExprOperand): Expr {
    return new Expr({ kind: "and", left: this.node, right: nodeOf(other) });
  }

  /** True when one is. */
  or(other: ExprOperand): Expr {
    return new Expr({ kind: "or", left: this.node, right: nodeOf(other) });
  }

  /** True when this is false; null stays null. */
  not(): Expr {
    return new Expr({ kind: "not", of: this.node });
  }

  /** Whether it is null or missing: true or false, never null. */
  isNull(): Expr {
    return new Expr({ kind: "isNull", of: this.node });
  }

  /**
   * Equal to one of the values.
   *
   * @param values - without null, all of one kind
   * @throws MarinError ZEPHYR_BAD_EXPRESSION
   */
  isIn(values: readonly Exclude<ExprLiteral, null>[]): Expr {
    const kinds = new Set(values.map(kindOf));
    if (kinds.size > 1 || kinds.has("null")) {
      throw new MarinError("ZEPHYR_BAD_EXPRESSION", `isIn() needs values of one kind, found ${[...kinds].join(" and ")}.`, { data: { kinds: [...kinds] } });
    }
    return new Expr({ kind: "isIn", of: this.node, values });
  }

  /** A field of a struct, or the value of a map's key. */
  field(name: string): Expr {
    return new Expr({ kind: "field", of: this.node, name });
  }

  #compare(operator: CompareOperator, other: ExprOperand): Expr {
    return new Expr({ kind: "compare", operator, left: this.node, right: nodeOf(other) });
  }

  #calculate(operator: ArithmeticOperator, other: ExprOperand): Expr {
    return new Expr({ kind: "arithmetic", operator, left: this.node, right: nodeOf(other) });
  }
}

/** A column of the record, by its whole name: `col("score").gt(0.5)`. What lies inside it: `col("meta").field("lang")`. */
export function col(name: string): Expr {
  return new Expr({ kind: "column", name });
}

/** A value as it is: `lit(1).sub(col("score"))`. */
export function lit(value: ExprLiteral): Expr {
  return new Expr({ kind: "literal", value });
}

/** Whether a value is an {@link Expr}. */
export function isExpr(value: unknown): value is Expr {
  return value instanceof Expr;
}

function nodeOf(operand: ExprOperand): ExprNode {
  return operand instanceof Expr ? operand.node : { kind: "literal", value: operand };
}
