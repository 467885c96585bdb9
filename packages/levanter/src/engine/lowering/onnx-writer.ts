import { MarinError } from "@marin/iris";
import type { DType, TensorData } from "../types.js";
import type { OnnxAttribute, OnnxModel } from "./onnx-model.js";

/** Writes the ONNX nodes of one operator. Values go by name: those of the inputs are given, each method returns the name of what it makes. */
export class OnnxWriter {
  readonly #model: OnnxModel;
  readonly #operator: string;
  /** What nodes may read: "" stands for an optional input that is left out. */
  readonly #values: Set<string>;

  /** `operator` stands before the names of the nodes, so that the runtime's messages name it; `inputs` are the names of its inputs. */
  constructor(model: OnnxModel, operator: string, inputs: readonly string[]) {
    this.#model = model;
    this.#operator = operator;
    this.#values = new Set(["", ...inputs]);
  }

  /**
   * Adds a node with one output: an operator of ONNX's opset 21 (https://onnx.ai/onnx/operators), or with `domain` `"com.microsoft"` one that
   * ONNX Runtime adds to them.
   *
   * @throws `LEVANTER_UNSAFE_OPERATOR` for a `ScatterND` with a reduction, which loses updates when several threads run it; `LEVANTER_OPERATOR_LOWERING`
   * for an input that is none of the operator's and was not made here
   */
  node(opType: string, inputs: readonly string[], attributes: Readonly<Record<string, OnnxAttribute>> = {}, domain = ""): string {
    return this.nodes(opType, inputs, 1, attributes, domain)[0] as string;
  }

  /** Adds a node with this many outputs. */
  nodes(opType: string, inputs: readonly string[], outputs: number, attributes: Readonly<Record<string, OnnxAttribute>> = {}, domain = ""): readonly string[] {
    for (const input of inputs) this.requireValue(input, `as an input of ${opType}`);
    const names = Array.from({ length: outputs }, () => this.#model.freshName());
    this.#model.node(opType, inputs, names, attributes, domain, this.#operator);
    for (const name of names) this.#values.add(name);
    return names;
  }

  /** Throws `LEVANTER_OPERATOR_LOWERING` unless the name is that of one of the operator's inputs or of something made here; `use` says what it is to be. */
  requireValue(name: string, use: string): void {
    if (this.#values.has(name)) return;
    throw new MarinError("LEVANTER_OPERATOR_LOWERING", `the lowering of operator "${this.#operator}" gives ${JSON.stringify(name) ?? "nothing"} ${use}, which is neither one of its inputs nor made by it`, {
      data: { operator: this.#operator },
    });
  }

  /** A constant of rank 0. */
  scalar(value: number, dtype: DType = "float32"): string {
    return this.#made(this.#model.scalar(value, dtype));
  }

  /** A constant tensor of at most 1 MiB. Equal constants are stored once. */
  constant(data: TensorData, dtype: DType, shape: readonly number[]): string {
    return this.#made(this.#model.constant(data, dtype, shape));
  }

  /** A constant vector of 64-bit integers, as ONNX takes shapes, axes and repeats. */
  int64(values: readonly number[]): string {
    return this.#made(this.#model.int64(values));
  }

  #made(name: string): string {
    this.#values.add(name);
    return name;
  }
}
