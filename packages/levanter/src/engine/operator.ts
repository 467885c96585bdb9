import * as tf from "@tensorflow/tfjs-core";
import { MarinError, isMarinError } from "@marin/iris";
import type { OnnxWriter } from "./lowering/onnx-writer.js";
import { registerOperator, type OperatorAttributes } from "./operator-registry.js";
import { RECORDING_BACKEND, type RecordingBackend } from "./recording-backend.js";
import { elementCount, sameShape } from "./shape.js";
import type { DType, TensorSpec } from "./types.js";

/** What an operator's lowering works with. */
export interface OperatorLowering<Input extends string, Attributes> {
  /** Adds ONNX nodes and constants. */
  readonly onnx: OnnxWriter;
  /** Names of the inputs in the ONNX graph. */
  readonly inputs: Readonly<Record<Input, string>>;
  readonly attributes: Attributes;
  /** Shapes and element types, as at the time of the call. In element-wise programs the length is any: constants may not have it. */
  readonly specs: { readonly inputs: Readonly<Record<Input, TensorSpec>>; readonly outputs: readonly TensorSpec[] };
}

/** What an operator's gradient is computed from. */
export interface OperatorGradient<Input extends string, Attributes> {
  /** Gradient of the loss with respect to the operator's value, of its shape. */
  readonly dy: tf.Tensor;
  readonly inputs: Readonly<Record<Input, tf.Tensor>>;
  /** The operator's value, then what else `composed` and `lower` give. */
  readonly outputs: readonly tf.Tensor[];
  readonly attributes: Attributes;
}

/** An operator: what `defineOperator` takes. */
export interface OperatorDefinition<Input extends string, Attributes extends OperatorAttributes, Differentiable extends Input> {
  /** Its name in graphs, listings and messages: a letter, then letters, digits, `.`, `_` or `-`. */
  readonly name: string;
  /** Names of the inputs, in the order in which the function takes them. */
  readonly inputs: readonly Input[];
  /** Names of the attributes, each with its default. Default: none. */
  readonly attributes?: Attributes;
  /** Every element of the outputs depends on the elements at the same place of the inputs alone, which are broadcast: such operators may stand in optimizers' updates. Default: false. */
  readonly elementwise?: boolean;
  /** Shape and element type of the value, then of what else the operator gives to its gradient. Default: the inputs' broadcast shape, the first one's type. */
  shape?(inputs: Readonly<Record<Input, TensorSpec>>, attributes: Attributes): TensorSpec | readonly TensorSpec[];
  /** The computation in `tf.*`: what eager engines run, and the operator's meaning. Returns the value, then what else the gradient needs. */
  composed(inputs: Readonly<Record<Input, tf.Tensor>>, attributes: Attributes): tf.Tensor | readonly tf.Tensor[];
  /** The computation as ONNX nodes: adds them and returns the names of the outputs. Default: the compiled engine records `composed`. */
  lower?(context: OperatorLowering<Input, Attributes>): string | readonly string[];
  /** Inputs that have a gradient; through the others none flows. Default: all of type float32. */
  readonly differentiable?: readonly Differentiable[];
  /** Gradients of the loss with respect to the inputs, in `tf.*`. Default: `composed` is computed once more and differentiated. */
  gradient?(context: OperatorGradient<Input, Attributes>): Readonly<Record<Differentiable, tf.Tensor>>;
  /** Floating-point operations of one call. Default: one for each element of the value. */
  flops?(inputs: Readonly<Record<Input, TensorSpec>>, outputs: readonly TensorSpec[], attributes: Attributes): number;
}

/** An operator as a function: its inputs one by one, then attributes that differ from their defaults. */
export type Operator<Inputs extends readonly string[], Attributes> = (
  ...call: [...inputs: { readonly [Index in keyof Inputs]: tf.Tensor }, attributes?: Partial<Attributes>]
) => tf.Tensor;

/** Prefix of the operators' kernels in tfjs, whose names are its own otherwise. */
const KERNEL_PREFIX = "operator/";

/**
 * Adds an operator to every engine: the compiled one runs its ONNX nodes, the others its composition of `tf.*`. The function that it returns is used
 * in models, losses and optimizers like tfjs's own, and has the gradient that is given here.
 *
 * @throws `LEVANTER_OPERATOR_NAME` when the name is taken or malformed, or an input is listed twice. The function throws `LEVANTER_OPERATOR_INPUT` when called with
 * something else than its tensors, `LEVANTER_OPERATOR_OUTPUT` when `composed`, `lower` or `gradient` give other tensors than they should,
 * `LEVANTER_OPERATOR_LOWERING` at compilation when `lower` throws
 */
export function defineOperator<const Inputs extends readonly string[], Attributes extends OperatorAttributes = Readonly<Record<never, never>>, Differentiable extends Inputs[number] = Inputs[number]>(
  definition: OperatorDefinition<Inputs[number], Attributes, Differentiable> & { readonly inputs: Inputs },
): Operator<Inputs, Attributes> {
  requireNames(definition.name, definition.inputs);
  // Within, names are plain: what the types promise has been checked where the definition was written.
  const operator = new DefinedOperator(definition as unknown as AnyDefinition);
  return (...call) => operator.apply(call);
}

type AnyDefinition = OperatorDefinition<string, OperatorAttributes, string>;

class DefinedOperator {
  readonly #definition: AnyDefinition;
  readonly #kernel: string;

  constructor(definition: AnyDefinition) {
    this.#definition = definition;
    this.#kernel = KERNEL_PREFIX + definition.name;
    registerOperator({
      name: definition.name,
      elementwise: definition.elementwise ?? false,
      lower: (onnx, inputs, specs, attributes) => this.#lower({ onnx, inputs: this.#named(inputs), attributes, specs: { inputs: this.#named(specs.inputs), outputs: specs.outputs } }),
      flops: (inputs, outputs, attributes) => definition.flops?.(this.#named(inputs), outputs, attributes) ?? elementCount((outputs[0] as TensorSpec).shape),
    });
    if (definition.lower === undefined) return;
    tf.registerKernel({
      kernelName: this.#kernel,
      backendName: RECORDING_BACKEND,
      kernelFunc: ({ inputs, attrs, backend }) => {
        const tensors = definition.inputs.map((name) => inputs[name] as tf.TensorInfo);
        const attributes = attrs as unknown as OperatorAttributes;
        return (backend as RecordingBackend).emitAll("custom", tensors, { operator: definition.name, attributes }, this.#specs(this.#named(tensors.map(specOf)), attributes));
      },
    });
  }

  apply(call: readonly unknown[]): tf.Tensor {
    const { inputs: names, attributes: defaults = {} } = this.#definition;
    const tensors = call.slice(0, names.length);
    const given = call[names.length] ?? {};
    if (call.length > names.length + 1 || tensors.length < names.length || typeof given !== "object" || given instanceof tf.Tensor) throw this.#wrongCall(`${call.length} arguments`);
    tensors.forEach((tensor, index) => {
      if (!(tensor instanceof tf.Tensor)) throw this.#wrongCall(`no tensor as "${names[index]}"`);
    });
    for (const key of Object.keys(given)) if (!(key in defaults)) throw this.#wrongCall(`an attribute "${key}"`);
    return this.#differentiated(this.#named(tensors as tf.Tensor[]), { ...defaults, ...given });
  }

  #wrongCall(found: string): MarinError {
    const { name, inputs, attributes = {} } = this.#definition;
    const options = Object.keys(attributes);
    const expected = `${inputs.length} tensors (${inputs.join(", ")})${options.length === 0 ? "" : ` and attributes { ${options.join(", ")} }`}`;
    return new MarinError("LEVANTER_OPERATOR_INPUT", `operator "${name}" takes ${expected}; it was called with ${found}`, { data: { operator: name, inputs, attributes: options } });
  }

  /** The value, with its gradient. Inputs of other types than float32 can have none, and stay outside of tfjs's view. */
  #differentiated(inputs: Readonly<Record<string, tf.Tensor>>, attributes: OperatorAttributes): tf.Tensor {
    const names = this.#definition.inputs.filter((name) => inputs[name]?.dtype === "float32");
    if (names.length === 0) return this.#run(inputs, attributes)[0] as tf.Tensor;
    const op = tf.customGrad((...args: (tf.Tensor | tf.GradSaveFunc)[]) => {
      const save = args.pop() as tf.GradSaveFunc;
      const taken = { ...inputs, ...Object.fromEntries(names.map((name, index) => [name, args[index] as tf.Tensor])) };
      const outputs = this.#run(taken, attributes);
      save([...this.#definition.inputs.map((name) => taken[name] as tf.Tensor), ...outputs]);
      const gradFunc = (dy: tf.Tensor, saved: tf.Tensor[]): tf.Tensor[] => {
        const before = this.#named(saved);
        const found = this.#gradients({ dy, inputs: before, outputs: saved.slice(this.#definition.inputs.length), attributes });
        return names.map((name) => found[name] ?? tf.zerosLike(before[name] as tf.Tensor));
      };
      return { value: outputs[0] as tf.Tensor, gradFunc };
    });
    return op(...names.map((name) => inputs[name] as tf.Tensor));
  }

  #run(inputs: Readonly<Record<string, tf.Tensor>>, attributes: OperatorAttributes): readonly tf.Tensor[] {
    if (tf.getKernel(this.#kernel, tf.getBackend()) !== undefined) {
      return [tf.engine().runKernel<tf.Tensor | tf.Tensor[]>(this.#kernel, inputs, attributes as unknown as tf.NamedAttrMap)].flat();
    }
    const outputs = list(this.#definition.composed(inputs, attributes));
    const expected = this.#specs(this.#named(this.#definition.inputs.map((name) => specOf(inputs[name] as tf.Tensor))), attributes);
    if (outputs.length !== expected.length) throw this.#wrongOutput(`"composed" gives ${outputs.length} tensors where "shape" says ${expected.length}`);
    outputs.forEach((output, index) => { this.#requireSpec(`"composed" gives output ${index}`, output, expected[index] as TensorSpec); });
    return outputs;
  }

  #gradients(context: OperatorGradient<string, OperatorAttributes>): Readonly<Record<string, tf.Tensor>> {
    const { inputs: names } = this.#definition;
    const wanted = (this.#definition.differentiable ?? names).filter((name) => context.inputs[name]?.dtype === "float32");
    if (wanted.length === 0) return {};
    const found = this.#definition.gradient?.(context) ?? this.#derived(context, wanted);
    for (const name of wanted) {
      const tensor = found[name];
      if (tensor === undefined) throw this.#wrongOutput(`"gradient" gives none for input "${name}"; leave it out of "differentiable" if none flows there`);
      this.#requireSpec(`"gradient" gives for input "${name}"`, tensor, specOf(context.inputs[name] as tf.Tensor));
    }
    return found;
  }

  /** The gradient of the composition. */
  #derived({ dy, inputs, attributes }: OperatorGradient<string, OperatorAttributes>, wanted: readonly string[]): Readonly<Record<string, tf.Tensor>> {
    const value = (...tensors: tf.Tensor[]): tf.Tensor => {
      const replaced = Object.fromEntries(wanted.map((name, index) => [name, tensors[index] as tf.Tensor]));
      return list(this.#definition.composed({ ...inputs, ...replaced }, attributes))[0] as tf.Tensor;
    };
    // tfjs ends its record of the outer function with that of the inner one.
    const { state } = tf.engine();
    const { activeTape } = state;
    const gradients = tf.grads(value)(wanted.map((name) => inputs[name] as tf.Tensor), dy);
    state.activeTape = activeTape;
    return Object.fromEntries(wanted.map((name, index) => [name, gradients[index] as tf.Tensor]));
  }

  #lower(context: OperatorLowering<string, OperatorAttributes>): readonly string[] {
    const { name } = this.#definition;
    let results: readonly string[];
    try {
      results = list(this.#definition.lower?.(context) ?? []);
    } catch (cause) {
      if (isMarinError(cause)) throw cause;
      throw new MarinError("LEVANTER_OPERATOR_LOWERING", `the lowering of operator "${name}" failed: ${cause instanceof Error ? cause.message : String(cause)}`, { data: { operator: name }, cause });
    }
    const expected = context.specs.outputs.length;
    if (results.length !== expected) throw this.#wrongOutput(`"lower" returns ${results.length} names where "shape" says ${expected} outputs`);
    return results;
  }

  #specs(inputs: Readonly<Record<string, TensorSpec>>, attributes: OperatorAttributes): readonly TensorSpec[] {
    const said = this.#definition.shape?.(inputs, attributes);
    if (said !== undefined) return list(said);
    const specs = this.#definition.inputs.map((name) => inputs[name] as TensorSpec);
    const broadcast = specs.reduce<number[]>((sum, spec) => tf.broadcast_util.assertAndGetBroadcastShape(sum, [...spec.shape]), []);
    return [{ shape: broadcast, dtype: specs[0]?.dtype ?? "float32" }];
  }

  #named<T>(values: readonly T[]): Record<string, T> {
    return Object.fromEntries(this.#definition.inputs.map((name, index) => [name, values[index] as T]));
  }

  #requireSpec(what: string, tensor: tf.Tensor, expected: TensorSpec): void {
    const isTensor = (tensor as unknown) instanceof tf.Tensor;
    if (isTensor && tensor.dtype === expected.dtype && sameShape(tensor.shape, expected.shape)) return;
    throw this.#wrongOutput(`${what} ${isTensor ? `${tensor.dtype} [${tensor.shape.join(",")}]` : "what is no tensor"}, expected ${expected.dtype} [${expected.shape.join(",")}]`);
  }

  #wrongOutput(what: string): MarinError {
    return new MarinError("LEVANTER_OPERATOR_OUTPUT", `operator "${this.#definition.name}": ${what}`, { data: { operator: this.#definition.name } });
  }
}

function requireNames(name: string, inputs: readonly string[]): void {
  if (!/^[A-Za-z][\w.-]*$/.test(name)) {
    throw new MarinError("LEVANTER_OPERATOR_NAME", `"${name}" is no name for an operator: it must be a letter, then letters, digits, ".", "_" or "-"`, { data: { operator: name } });
  }
  if (inputs.length === 0 || new Set(inputs).size !== inputs.length) {
    throw new MarinError("LEVANTER_OPERATOR_NAME", `operator "${name}" must have inputs, each with a name of its own; it has (${inputs.join(", ")})`, { data: { operator: name, inputs } });
  }
}

function specOf({ shape, dtype }: tf.TensorInfo): TensorSpec {
  return { shape, dtype: dtype as DType };
}

function list<T extends object | string>(value: T | readonly T[]): readonly T[] {
  return Array.isArray(value) ? (value as readonly T[]) : [value as T];
}
