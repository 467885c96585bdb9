import { createHash } from "node:crypto";
import type { Graph, Node, OpName, OpTable, Value } from "./graph.js";
import type { TensorData, TensorSpec } from "./types.js";

/**
 * Builds a graph node by node. Two nodes with the same operation, inputs and attributes become one (common-subexpression elimination),
 * constants with the same bytes included: every operation of the graph is a pure function of its inputs.
 */
export class GraphBuilder {
  readonly #name: string;
  readonly #inputs = new Map<string, Value>();
  readonly #nodes: Node[] = [];
  readonly #known = new Map<string, readonly Value[]>();
  #nextId = 0;

  constructor(name: string) {
    this.#name = name;
  }

  /** Adds an input of the graph. */
  input(name: string, spec: TensorSpec): Value {
    const value: Value = { id: this.#nextId++, shape: spec.shape, dtype: spec.dtype, producer: undefined, output: 0 };
    this.#inputs.set(name, value);
    return value;
  }

  /** Applies an operation, and returns its outputs: new ones, or those of an equal node already there. */
  apply<K extends OpName>(op: K, inputs: readonly Value[], attributes: OpTable[K], outputs: readonly TensorSpec[]): readonly Value[] {
    const key = nodeKey(op, inputs, attributes, outputs);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const values: Value[] = [];
    const node: Node<K> = { op, inputs, attributes, outputs: values };
    outputs.forEach((spec, output) => {
      values.push({ id: this.#nextId++, shape: spec.shape, dtype: spec.dtype, producer: node, output });
    });
    this.#nodes.push(node);
    this.#known.set(key, values);
    return values;
  }

  /** `apply` for an operation with one output. */
  one<K extends OpName>(op: K, inputs: readonly Value[], attributes: OpTable[K], output: TensorSpec): Value {
    return this.apply(op, inputs, attributes, [output])[0] as Value;
  }

  /** The finished graph with these outputs. */
  finish(outputs: ReadonlyMap<string, Value>): Graph {
    return { name: this.#name, inputs: this.#inputs, nodes: this.#nodes, outputs };
  }
}

function nodeKey(op: OpName, inputs: readonly Value[], attributes: OpTable[OpName], outputs: readonly TensorSpec[]): string {
  const written = JSON.stringify(attributes, (_name, value: unknown) => {
    if (ArrayBuffer.isView(value)) return digest(value as TensorData);
    if (typeof value === "number") return Object.is(value, -0) ? "-0" : String(value);
    return value;
  });
  const specs = outputs.map((spec) => `${spec.dtype}[${spec.shape.join(",")}]`).join(";");
  return `${op}(${inputs.map((value) => value.id).join(",")})${written}->${specs}`;
}

function digest(data: TensorData): string {
  return createHash("sha256").update(new Uint8Array(data.buffer, data.byteOffset, data.byteLength)).digest("hex");
}
