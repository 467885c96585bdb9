import { isOp, type Graph, type Value } from "../graph.js";
import type { Specs } from "../types.js";
import { lowerNode } from "./onnx-operators.js";
import { OnnxModel } from "./onnx-model.js";

/** A graph as an ONNX model. Input and output tensors of the model have the names that `inputName` and `outputName` give. */
export interface LoweredModel {
  readonly name: string;
  /** The serialized ModelProto. */
  readonly bytes: Uint8Array;
  /** Specs at trace time; with a symbolic length these shapes hold the length used for tracing. */
  readonly inputs: Specs;
  readonly outputs: Specs;
  /** ONNX nodes in the model. */
  readonly nodeCount: number;
  /** What was lowered. */
  readonly graph: Graph;
  /** For each ONNX node, whose name ends in its number, the index of the graph node that it is a part of. */
  readonly origins: readonly number[];
}

/** Name of the ONNX graph's input for an input of the function. */
export function inputName(name: string): string {
  return `in:${name}`;
}

/** Name of the ONNX graph's output for an output of the function. Differs from every input's, so that a state can be named alike on both sides. */
export function outputName(name: string): string {
  return `out:${name}`;
}

/**
 * Writes a graph as an ONNX model.
 *
 * @param symbolicLength - when given, every dimension of an input or output that equals it is written as the symbolic dimension `N`
 */
export function lower(graph: Graph, symbolicLength?: number): LoweredModel {
  const model = new OnnxModel(graph.name);
  const names = new Map<Value, string>();
  const dimensions = (shape: readonly number[]): (number | string)[] => shape.map((dimension) => (dimension === symbolicLength ? "N" : dimension));
  for (const [name, value] of graph.inputs) {
    names.set(value, inputName(name));
    model.input(inputName(name), value.dtype, dimensions(value.shape));
  }
  const outputs = [...graph.outputs].map(([name, value]) => ({ name: outputName(name), value }));
  for (const { name, value } of outputs) if (!names.has(value)) names.set(value, name);
  const nameOf = (value: Value): string => {
    const known = names.get(value);
    if (known !== undefined) return known;
    const fresh = model.freshName();
    names.set(value, fresh);
    return fresh;
  };
  const origins: number[] = [];
  for (const [index, node] of graph.nodes.entries()) {
    lowerNode({ model, node, inputs: node.inputs.map(nameOf), outputs: node.outputs.map(nameOf) });
    while (origins.length < model.nodeCount) origins.push(index);
    if (!isOp(node, "custom") || symbolicLength !== undefined) continue;
    // What an operator's author says of its outputs is checked; outputs of the graph are declared below in any case.
    for (const value of node.outputs) if (!outputs.some((output) => output.value === value)) model.inner(nameOf(value), value.dtype, value.shape);
  }
  for (const { name, value } of outputs) {
    // An output that is an input of the graph, or another output too, needs a node of its own.
    if (nameOf(value) !== name) model.node("Identity", [nameOf(value)], [name]);
    model.output(name, value.dtype, dimensions(value.shape));
  }
  return { name: graph.name, bytes: model.encode(), inputs: specsOf(graph.inputs), outputs: specsOf(graph.outputs), nodeCount: model.nodeCount, graph, origins };
}

function specsOf(values: ReadonlyMap<string, Value>): Specs {
  return Object.fromEntries([...values].map(([name, { shape, dtype }]) => [name, { shape, dtype }]));
}
