import { isMarinError, MarinError } from "@marin/iris";
import { isOp } from "../graph.js";
import type { Graph, Value } from "../graph.js";
import { ONNX_TYPE, OnnxModel } from "../lowering/onnx-model.js";
import { registerOperator } from "../operator-registry.js";
import { rewrite } from "../passes/rewrite.js";
import type { Rule } from "../passes/rewrite.js";
import { uniformValue } from "../passes/uniform.js";
import { elementCount } from "../shape.js";
import type { DeviceName } from "./device-api.js";
import type { DeviceContext } from "./device-context.js";

/**
 * In what matrix products compute: `float32`, or `float16` operands and results around a product, everything else (parameters, gradients, moments, sums, norms, losses)
 * in float32. Micikevicius et al.: "Mixed Precision Training", 2018.
 */
export type Precision = "float32" | "float16";

/** ONNX's number for 16-bit floats, of which the graph knows nothing. */
const float16 = 10;

const halfProduct = "half.product";
registerOperator({
  name: halfProduct,
  elementwise: false,
  lower: (writer, inputs, _specs, { op, transposeA, transposeB }) => {
    const [a, b] = inputs.map((input) => writer.node("Cast", [input], { to: { int: float16 } }));
    const transposes = op === "Gemm" ? { transA: { int: transposeA === true ? 1 : 0 }, transB: { int: transposeB === true ? 1 : 0 } } : {};
    return [writer.node("Cast", [writer.node(op as string, [a as string, b as string], transposes)], { to: { int: ONNX_TYPE.float32 } })];
  },
  flops: ([a], [output], { transposeA }) => 2 * elementCount(output?.shape ?? []) * (a?.shape.at(transposeA === true ? -2 : -1) ?? 0),
});

/**
 * The graph with its products in float16. On WebGPU a product's sum is kept in the type of its operands, so that those over all tokens of a batch (gradients
 * of weights, the products that transpose their first operand) stay in float32 there; CUDA sums in float32.
 */
export function withHalfProducts(graph: Graph, device: DeviceName): Graph {
  const rule: Rule = ({ builder, node, inputs }) => {
    const output = node.outputs[0] as Value;
    if (output.dtype !== "float32") return undefined;
    if (isOp(node, "matmul")) {
      const { transposeA, transposeB, alpha } = node.attributes;
      if (transposeA || transposeB || alpha !== 1) return undefined;
      return [builder.one("custom", inputs, { operator: halfProduct, attributes: { op: "MatMul" } }, output)];
    }
    if (!isOp(node, "gemm") || (device === "webgpu" && node.attributes.transposeA)) return undefined;
    const [a, b, bias] = inputs as readonly [Value, Value, Value];
    const product = builder.one("custom", [a, b], { operator: halfProduct, attributes: { op: "Gemm", ...node.attributes } }, output);
    return [uniformValue(bias) === 0 ? product : builder.one("add", [product, bias], {}, output)];
  };
  return rewrite(graph, [rule]);
}

/** Releases the device and throws `LEVANTER_PRECISION` where it has no 16-bit floats. */
export async function requireHalf(context: DeviceContext, where: string): Promise<void> {
  const model = new OnnxModel("float16");
  model.node("Cast", ["x"], ["half"], { to: { int: float16 } });
  model.node("Cast", ["half"], ["y"], { to: { int: ONNX_TYPE.float32 } });
  model.input("x", "float32", [1]);
  model.output("y", "float32", [1]);
  await context.queue.run(async () => {
    const session = await context.createSession(model.encode());
    const tensor = context.allocate({ shape: [1], dtype: "float32" });
    try {
      await context.upload(Float32Array.of(1), tensor);
      await context.runToHost(session, { x: tensor.value }, "y", new Float32Array(1), tensor.spec);
    } catch (cause) {
      if (!isMarinError(cause)) throw cause;
      throw precisionUnavailable("float16", where, `it computes nothing in 16-bit floats (${cause.message})`, cause);
    } finally {
      tensor.release();
      session.release();
    }
  }).catch((error: unknown) => {
    context.release();
    throw error;
  });
}

/** The error for a precision that would gain nothing, or that a device does not have. */
export function precisionUnavailable(precision: Precision, where: string, why: string, cause?: Error): MarinError {
  return new MarinError("LEVANTER_PRECISION", `precision "${precision}" cannot be had on ${where}: ${why}. Use precision "float32".`, { data: { precision, where }, cause });
}
