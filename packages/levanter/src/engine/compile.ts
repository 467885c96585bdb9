import { MarinError } from "@marin/iris";
import { isElementwise } from "./elementwise.js";
import { isOp, operationName, type Graph, type OpName, type Value } from "./graph.js";
import { lower, type LoweredModel } from "./lowering/lower.js";
import { optimize } from "./passes/optimize.js";
import { productForms } from "./passes/product-forms.js";
import { trace } from "./trace.js";
import type { Specs, TensorFunction, TensorSpec } from "./types.js";

/** Elements per piece when an element-wise or reducing function walks over groups: 256 KiB of float32, so that a few operands fit a core's cache. */
export const CHUNK_ELEMENTS = 65_536;

/** Traces, optimizes and lowers a function of fixed shapes, for the CPU. */
export function compileToOnnx(name: string, fn: TensorFunction, inputs: Specs): LoweredModel {
  return lower(productForms(optimize(trace(name, fn, inputs))));
}

/**
 * Compiles an element-wise function for inputs of any length N: groups are float32 [N], scalars float32 [].
 *
 * @throws `LEVANTER_NOT_ELEMENTWISE` when an operation mixes elements or depends on the length
 */
export function compileElementwiseToOnnx(name: string, fn: TensorFunction, groups: readonly string[], scalars: readonly string[]): LoweredModel {
  const graph = optimize(trace(name, fn, chunkSpecs(groups, scalars)));
  requireElementwise(graph, new Set());
  for (const [output, value] of graph.outputs) {
    if (!groups.includes(output) || value.shape[0] !== CHUNK_ELEMENTS || value.shape.length !== 1 || value.dtype !== "float32") {
      throw new MarinError(
        "LEVANTER_NOT_ELEMENTWISE",
        `"${name}" returns "${output}", ${value.dtype} [${value.shape.join(",")}]; an element-wise function returns float32 groups of its inputs' length (${groups.join(", ")})`,
        { data: { program: name, output, dtype: value.dtype, shape: value.shape } },
      );
    }
  }
  return lower(graph, CHUNK_ELEMENTS);
}

/**
 * Compiles `fn`, which maps float32 [N] groups to `{ value }`, a scalar, for any length N.
 *
 * @throws `LEVANTER_NOT_ELEMENTWISE` when it is not an element-wise function followed by a sum
 */
export function compileReduceToOnnx(name: string, fn: TensorFunction, groups: readonly string[]): LoweredModel {
  const graph = optimize(trace(name, fn, chunkSpecs(groups, [])));
  const value = graph.outputs.get("value");
  if (graph.outputs.size !== 1 || value === undefined || value.shape.length !== 0 || value.dtype !== "float32") {
    throw new MarinError("LEVANTER_NOT_ELEMENTWISE", `"${name}" must return exactly { value }, a float32 scalar`, { data: { program: name } });
  }
  requireElementwise(graph, new Set<OpName>(["sum", "reshape"]));
  requireOnlySummed(graph, value);
  return lower(graph, CHUNK_ELEMENTS);
}

/** Partial sums of pieces are added up, so `value` must be a sum as it is: its root, say, would be a sum of roots. */
function requireOnlySummed(graph: Graph, value: Value): void {
  const sums = new Set<Value>();
  for (const node of graph.nodes) {
    const ofSum = node.inputs.some((input) => sums.has(input));
    if (ofSum && node.op !== "reshape") {
      throw new MarinError("LEVANTER_NOT_ELEMENTWISE", `"${graph.name}" applies ${node.op} to its sum; return the sum, and apply it to the number that the reduction gives`, {
        data: { program: graph.name, op: node.op },
      });
    }
    if (ofSum || node.op === "sum") for (const output of node.outputs) sums.add(output);
  }
  if (!sums.has(value)) throw new MarinError("LEVANTER_NOT_ELEMENTWISE", `"${graph.name}" returns a value that is no sum over its groups`, { data: { program: graph.name } });
}

function chunkSpecs(groups: readonly string[], scalars: readonly string[]): Specs {
  const vector = { shape: [CHUNK_ELEMENTS], dtype: "float32" } as const;
  const scalar = { shape: [], dtype: "float32" } as const;
  const entries: [string, TensorSpec][] = [...groups.map((name): [string, TensorSpec] => [name, vector]), ...scalars.map((name): [string, TensorSpec] => [name, scalar])];
  return Object.fromEntries(entries);
}

function requireElementwise(graph: Graph, allowed: ReadonlySet<OpName>): void {
  for (const node of graph.nodes) {
    const fixedLength = isOp(node, "fill") || isOp(node, "constant") || isOp(node, "reshape") ? node.outputs.some((value) => value.shape.length > 0) : false;
    if ((isElementwise(node) || allowed.has(node.op)) && !fixedLength) continue;
    throw new MarinError(
      "LEVANTER_NOT_ELEMENTWISE",
      `"${graph.name}" uses ${operationName(node)}${fixedLength ? " of a fixed length" : ""}, which is not element-wise; use operations that treat every element alike`,
      { data: { program: graph.name, op: operationName(node) } },
    );
  }
}
