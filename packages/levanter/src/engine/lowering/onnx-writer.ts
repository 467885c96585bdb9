import type { DType, TensorData } from "../types.js";
import type { OnnxAttribute, OnnxModel } from "./onnx-model.js";

/** Writes the ONNX nodes of one operator. Values go by name: those of the inputs are given, each method returns the name of what it makes. */
export class OnnxWriter {
  readonly #model: OnnxModel;
  readonly #scope: string;

  /** `scope` stands before the names of the nodes, so that the runtime's messages name the operator. */
  constructor(model: OnnxModel, scope: string) {
    this.#model = model;
    this.#scope = scope;
  }

  /**
   * Adds a node with one output: an operator of ONNX's opset 21 (https://onnx.ai/onnx/operators), or with `domain` `"com.microsoft"` one that
   * ONNX Runtime adds to them.
   *
   * @throws `LEVANTER_UNSAFE_OPERATOR` for a `ScatterND` with a reduction, which loses updates when several threads run it
   */
  node(opType: string, inputs: readonly string[], attributes: Readonly<Record<string, OnnxAttribute>> = {}, domain = ""): string {
    return this.nodes(opType, inputs, 1, attributes, domain)[0] as string;
  }

  /** Adds a node with this many outputs. */
  nodes(opType: string, inputs: readonly string[], outputs: number, attributes: Readonly<Record<string, OnnxAttribute>> = {}, domain = ""): readonly string[] {
    const names = Array.from({ length: outputs }, () => this.#model.freshName());
    this.#model.node(opType, inputs, names, attributes, domain, this.#scope);
    return names;
  }

  /** A constant of rank 0. */
  scalar(value: number, dtype: DType = "float32"): string {
    return this.#model.scalar(value, dtype);
  }

  /** A constant tensor of at most 1 MiB. Equal constants are stored once. */
  constant(data: TensorData, dtype: DType, shape: readonly number[]): string {
    return this.#model.constant(data, dtype, shape);
  }

  /** A constant vector of 64-bit integers, as ONNX takes shapes, axes and repeats. */
  int64(values: readonly number[]): string {
    return this.#model.int64(values);
  }
}
