import { isOp, type Node, type OpName, type Value } from "../graph.js";
import { sameShape } from "../shape.js";
import { switchedOn } from "../switches.js";
import type { RewriteContext, Rule } from "./rewrite.js";
import { uniformValue } from "./uniform.js";

/** The index of the node's input that a node of this operation made and that nothing else uses. */
function soleUseOf(context: RewriteContext, op: OpName): number {
  const { node, inputs, uses } = context;
  return node.inputs.findIndex((old, index) => inputs[index]?.producer?.op === op && uses(old) === 1);
}

/** The smallest normal float32: below it numbers lose digits. */
const SMALLEST_NORMAL = 2 ** -126;

/** `c · (a b)` with a number c: the product's `alpha`, unless one number could not stand for the factors that were multiplied one by one. */
const scaledProduct: Rule = (context) => {
  const { node, inputs, builder } = context;
  if (node.op !== "mul" && node.op !== "div") return undefined;
  const at = soleUseOf(context, "matmul");
  if (at === -1 || (node.op === "div" && at !== 0)) return undefined;
  const product = inputs[at] as Value;
  const factor = uniformValue(inputs[1 - at] as Value);
  const matmul = product.producer;
  if (factor === undefined || !isOp(matmul, "matmul") || !sameShape(product.shape, (node.outputs[0] as Value).shape)) return undefined;
  const alpha = Math.fround(node.op === "mul" ? matmul.attributes.alpha * factor : matmul.attributes.alpha / factor);
  if (product.dtype !== "float32" || !Number.isFinite(alpha) || Math.abs(alpha) < SMALLEST_NORMAL) return undefined;
  return builder.apply("matmul", matmul.inputs, { ...matmul.attributes, alpha }, node.outputs);
};

/** `a b + bias` in two dimensions: one product with bias. */
const biasedProduct: Rule = (context) => {
  const { node, inputs, builder } = context;
  if (node.op !== "add") return undefined;
  const at = soleUseOf(context, "matmul");
  if (at === -1) return undefined;
  const matmul = (inputs[at] as Value).producer as Node;
  const bias = inputs[1 - at] as Value;
  const output = node.outputs[0] as Value;
  if (output.dtype !== "float32") return undefined;
  if (!isOp(matmul, "matmul") || matmul.attributes.alpha !== 1 || output.shape.length !== 2 || bias.shape.length !== 1) return undefined;
  if (matmul.inputs.some((operand) => operand.shape.length !== 2) || bias.shape[0] !== output.shape[1]) return undefined;
  const { transposeA, transposeB } = matmul.attributes;
  return builder.apply("gemm", [...matmul.inputs, bias], { transposeA, transposeB }, node.outputs);
};

/** `x + scatterAddRows(0, ...)`: scatter onto x. */
const scatterOntoSum: Rule = ({ node, inputs, uses, builder }) => {
  if (node.op !== "add") return undefined;
  for (const at of [0, 1]) {
    const scatter = (inputs[at] as Value).producer;
    const other = inputs[1 - at] as Value;
    if (!isOp(scatter, "scatterAddRows") || uses(node.inputs[at] as Value) !== 1) continue;
    const [base, indices, updates] = scatter.inputs as readonly [Value, Value, Value];
    if (uniformValue(base) === 0 && sameShape(other.shape, base.shape)) return builder.apply("scatterAddRows", [other, indices, updates], {}, node.outputs);
  }
  return undefined;
};

/** Rules that merge a node with the only producer of one of its inputs. */
export function fusions(): readonly Rule[] {
  return switchedOn({ scaledProduct, biasedProduct, scatterOntoSum });
}
