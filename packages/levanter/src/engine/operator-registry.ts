import { MarinError } from "@marin/iris";
import { isOp, type Node } from "./graph.js";
import type { OnnxWriter } from "./lowering/onnx-writer.js";
import type { TensorSpec } from "./types.js";

/** Parameters of an operator that are known when it is called: plain values, part of the compiled graph. */
export type OperatorAttributes = Readonly<Record<string, number | string | boolean | readonly number[]>>;

/** What the compiled engine knows of an operator that `defineOperator` made. Inputs are in the order of its definition. */
export interface RegisteredOperator {
  readonly name: string;
  readonly elementwise: boolean;
  lower(writer: OnnxWriter, inputs: readonly string[], specs: { readonly inputs: readonly TensorSpec[]; readonly outputs: readonly TensorSpec[] }, attributes: OperatorAttributes): readonly string[];
  flops(inputs: readonly TensorSpec[], outputs: readonly TensorSpec[], attributes: OperatorAttributes): number;
}

const operators = new Map<string, RegisteredOperator>();

/**
 * Keeps an operator under its name.
 *
 * @throws `LEVANTER_OPERATOR_NAME` when the name is taken
 */
export function registerOperator(operator: RegisteredOperator): void {
  if (operators.has(operator.name)) {
    throw new MarinError("LEVANTER_OPERATOR_NAME", `an operator "${operator.name}" is defined already; define it once, in a module of its own, or choose another name`, {
      data: { operator: operator.name },
    });
  }
  operators.set(operator.name, operator);
}

/** The defined operator that a node of the graph applies; `undefined` for the graph's own operations. */
export function operatorOf(node: Node): RegisteredOperator | undefined {
  return isOp(node, "custom") ? operators.get(node.attributes.operator) : undefined;
}

/**
 * The runtime's complaint about a compiled graph, as one about the operator whose nodes it is about.
 *
 * @returns the error to throw; `undefined` when it is about no defined operator
 */
export function operatorFault(program: string, error: Error): MarinError | undefined {
  const names = [...error.message.matchAll(/([A-Za-z][\w.-]*)\/[A-Z]\w*_\d+/g)].map((match) => match[1] as string);
  const operator = names.find((name) => operators.has(name));
  if (operator === undefined) return undefined;
  const otherOutput = /does not match expected type|inferred and declared/.test(error.message);
  const [code, what] = otherOutput ? ["LEVANTER_OPERATOR_OUTPUT", '"lower" gives another output than "shape" says'] : ["LEVANTER_OPERATOR_LOWERING", "ONNX Runtime refuses its nodes"];
  return new MarinError(code, `operator "${operator}" in "${program}": ${what}: ${error.message}`, { data: { operator, program }, cause: error });
}
