import { OnnxModel, type OnnxAttribute } from "../../src/engine/lowering/onnx-model.js";
import type { DType } from "../../src/engine/types.js";

/** An input or output: names and extents, a string extent being symbolic. */
export interface TinyValue {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: readonly (number | string)[];
}

/** A node of ONNX's own operator set. */
export interface TinyNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  readonly attributes?: Readonly<Record<string, OnnxAttribute>>;
}

/** Serializes a model of a few nodes, for tests of the runtimes by themselves. */
export function tinyModel(inputs: readonly TinyValue[], outputs: readonly TinyValue[], nodes: readonly TinyNode[]): Uint8Array {
  const model = new OnnxModel("tiny");
  for (const { op, inputs: read, outputs: written, attributes } of nodes) model.node(op, read, written, attributes);
  for (const { name, dtype, shape } of inputs) model.input(name, dtype, shape);
  for (const { name, dtype, shape } of outputs) model.output(name, dtype, shape);
  return model.encode();
}
