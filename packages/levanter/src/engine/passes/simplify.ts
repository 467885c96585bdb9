import { isOp, type OpName, type Value } from "../graph.js";
import type { GraphBuilder } from "../graph-builder.js";
import { elementCount, sameShape } from "../shape.js";
import type { RewriteContext, Rule } from "./rewrite.js";
import { uniformValue } from "./uniform.js";

/** Element-wise operations that broadcast: an operand may be given in its smaller shape. */
const BROADCASTING: ReadonlySet<OpName> = new Set<OpName>([
  "add", "sub", "mul", "div", "maximum", "minimum", "pow", "squaredDifference", "equal", "notEqual", "greater", "greaterEqual", "less", "lessEqual",
  "logicalAnd", "logicalOr", "select",
]);

function outputOf({ node }: Pick<RewriteContext, "node">): Value {
  return node.outputs[0] as Value;
}

/** `x` in the output's shape: itself, or broadcast. */
function inShape(builder: GraphBuilder, x: Value, output: Value): Value {
  return sameShape(x.shape, output.shape) ? x : builder.one("broadcast", [x], {}, output);
}

/** `x·1`, `x/1`, `x+0`, `x−0`: x itself. */
const neutralOperand: Rule = (context) => {
  const { node, inputs, builder } = context;
  const [a, b] = inputs;
  if (a === undefined || b === undefined || outputOf(context).dtype !== a.dtype) return undefined;
  const neutral = node.op === "mul" || node.op === "div" ? 1 : node.op === "add" || node.op === "sub" ? 0 : undefined;
  if (neutral === undefined) return undefined;
  // −0 + 0 is 0, so that the sign of a zero may differ from the eager engine's, as it may in ONNX Runtime, which drops such nodes as well.
  if (uniformValue(b) === neutral) return [inShape(builder, a, outputOf(context))];
  if ((node.op === "mul" || node.op === "add") && uniformValue(a) === neutral) return [inShape(builder, b, outputOf(context))];
  return undefined;
};

/** Operands that are broadcast, or filled with one number, are used in their small shape where another operand gives the result's shape. */
const smallOperands: Rule = (context) => {
  const { node, inputs, builder } = context;
  if (!BROADCASTING.has(node.op)) return undefined;
  const output = outputOf(context);
  const chosen = [...inputs];
  inputs.forEach((input, index) => {
    const candidate = smallForm(builder, input);
    const shapes = chosen.map((value, at) => (at === index ? candidate.shape : value.shape));
    if (sameShape(broadcastShape(shapes), output.shape)) chosen[index] = candidate;
  });
  if (chosen.every((value, index) => value === inputs[index])) return undefined;
  return builder.apply(node.op, chosen, node.attributes, node.outputs);
};

function smallForm(builder: GraphBuilder, value: Value): Value {
  if (isOp(value.producer, "broadcast")) return value.producer.inputs[0] as Value;
  if (value.shape.length === 0) return value;
  const uniform = uniformValue(value);
  return uniform === undefined ? value : builder.one("fill", [], { value: uniform }, { shape: [], dtype: value.dtype });
}

/** The shape that these shapes broadcast to together. */
function broadcastShape(shapes: readonly (readonly number[])[]): number[] {
  const rank = Math.max(...shapes.map((shape) => shape.length));
  return Array.from({ length: rank }, (_unused, axis) => Math.max(...shapes.map((shape) => shape[axis - rank + shape.length] ?? 1)));
}

const reshapes: Rule = (context) => {
  const { node, inputs, builder } = context;
  if (node.op !== "reshape") return undefined;
  const output = outputOf(context);
  let source = inputs[0] as Value;
  while (isOp(source.producer, "reshape")) source = source.producer.inputs[0] as Value;
  if (sameShape(source.shape, output.shape)) return [source];
  if (isOp(source.producer, "fill")) return [builder.one("fill", [], source.producer.attributes, output)];
  return source === inputs[0] ? undefined : [builder.one("reshape", [source], {}, output)];
};

const transposes: Rule = (context) => {
  const { node, inputs, builder } = context;
  if (!isOp(node, "transpose")) return undefined;
  const output = outputOf(context);
  const outer = node.attributes.permutation;
  const inner = (inputs[0] as Value).producer;
  const [source, permutation] = isOp(inner, "transpose")
    ? [inner.inputs[0] as Value, outer.map((axis) => inner.attributes.permutation[axis] as number)]
    : [inputs[0] as Value, outer];
  const moved = permutation.filter((axis) => source.shape[axis] !== 1);
  if (moved.every((axis, index) => index === 0 || axis > (moved[index - 1] as number))) {
    return [sameShape(source.shape, output.shape) ? source : builder.one("reshape", [source], {}, output)];
  }
  // A swap of the last two axes stays by itself: a product takes it as a flag, and the transposition below it is then shared.
  if (source === inputs[0] || swapsLastTwo(outer)) return undefined;
  return [builder.one("transpose", [source], { permutation }, output)];
};

/** A transposition of a product's operand becomes a flag of the product. */
const transposedOperands: Rule = ({ node, inputs, builder }) => {
  if (!isOp(node, "matmul") || outputOf({ node }).dtype !== "float32") return undefined;
  const a = swapped(inputs[0] as Value);
  const b = swapped(inputs[1] as Value);
  if (a === undefined && b === undefined) return undefined;
  const { transposeA, transposeB, alpha } = node.attributes;
  const attributes = { transposeA: transposeA !== (a !== undefined), transposeB: transposeB !== (b !== undefined), alpha };
  return builder.apply("matmul", [a ?? (inputs[0] as Value), b ?? (inputs[1] as Value)], attributes, node.outputs);
};

/** The operand before a transposition of its last two axes, if that is what made it. */
function swapped(value: Value): Value | undefined {
  return isOp(value.producer, "transpose") && swapsLastTwo(value.producer.attributes.permutation) ? (value.producer.inputs[0]) : undefined;
}

function swapsLastTwo(permutation: readonly number[]): boolean {
  const rank = permutation.length;
  return permutation.every((axis, index) => axis === (index === rank - 1 ? rank - 2 : index === rank - 2 ? rank - 1 : index));
}

const broadcasts: Rule = (context) => {
  const { node, inputs, builder } = context;
  const x = inputs[0] as Value;
  // Repeating an axis of length one is broadcasting it, which element-wise operations do by themselves.
  const repeatsOnes = isOp(node, "tile") && node.attributes.repeats.every((count, axis) => count === 1 || x.shape[axis] === 1);
  if (node.op !== "broadcast" && !repeatsOnes) return undefined;
  if (sameShape(x.shape, outputOf(context).shape)) return [x];
  return repeatsOnes ? [builder.one("broadcast", [x], {}, outputOf(context))] : undefined;
};

/** A slice that takes everything, and padding by nothing. */
const wholeSlice: Rule = (context) => {
  const { node, inputs } = context;
  if (node.op !== "slice" && node.op !== "pad") return undefined;
  return sameShape((inputs[0] as Value).shape, outputOf(context).shape) ? [inputs[0] as Value] : undefined;
};

/** A sum, mean, maximum or minimum over axes of length one only changes the shape. */
const reductionOfOne: Rule = (context) => {
  const { node, inputs, builder } = context;
  if (!isOp(node, "sum") && !isOp(node, "mean") && !isOp(node, "max") && !isOp(node, "min")) return undefined;
  const x = inputs[0] as Value;
  return elementCount(x.shape) === elementCount(outputOf(context).shape) ? [builder.one("reshape", [x], {}, outputOf(context))] : undefined;
};

/** Rules that need only the node and what made its inputs. */
export const SIMPLIFICATIONS: readonly Rule[] = [neutralOperand, reshapes, transposes, transposedOperands, broadcasts, wholeSlice, reductionOfOne, smallOperands];
