import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { OpName, OpTable, Value } from "./graph.js";
import type { GraphBuilder } from "./graph-builder.js";
import type { DType, TensorData, TensorSpec } from "./types.js";

/** Name under which the recording backend is registered with tfjs. */
export const RECORDING_BACKEND = "marin-recording";

/** Largest constant that a traced function may create, in bytes: a larger one belongs into an input or is a materialized broadcast. */
export const MAX_CONSTANT_BYTES = 1 << 20;

/**
 * A tfjs backend whose kernels append nodes to a graph instead of computing. tfjs's own operations and gradients run on it unchanged.
 * One recording is active at a time; `trace` starts and ends it.
 */
export class RecordingBackend extends tf.KernelBackend {
  readonly #values = new WeakMap<object, Value>();
  #live = 0;
  #builder: GraphBuilder | undefined;

  /** Starts recording into a builder, or ends it with `undefined`. */
  record(builder: GraphBuilder | undefined): void {
    this.#builder = builder;
  }

  /** The value that a tensor of this backend stands for; `op` is the operation that takes it, for the message. */
  traced(tensor: tf.TensorInfo, op?: OpName): Value {
    const value = this.#values.get(tensor.dataId);
    if (value === undefined) {
      throw new MarinError(
        "LEVANTER_CAPTURED_TENSOR",
        `a compiled function uses a tensor of shape [${tensor.shape.join(",")}] that was made outside of it${op === undefined ? "" : `, in operation ${op}`}, at ${callerLine()}: pass it as an input`,
        { data: { shape: tensor.shape, dtype: tensor.dtype } },
      );
    }
    return value;
  }

  /** Applies an operation with one output and returns the tensor that stands for it. */
  emit<K extends OpName>(op: K, inputs: readonly tf.TensorInfo[], attributes: OpTable[K], output: TensorSpec): tf.TensorInfo {
    return this.emitAll(op, inputs, attributes, [output])[0] as tf.TensorInfo;
  }

  /** Applies an operation with several outputs. */
  emitAll<K extends OpName>(
    op: K, inputs: readonly tf.TensorInfo[], attributes: OpTable[K], outputs: readonly TensorSpec[],
  ): tf.TensorInfo[] {
    const values = this.#active().apply(op, inputs.map((tensor) => this.traced(tensor, op)), attributes, outputs);
    return values.map((value) => this.wrap(value));
  }

  /** A tensor that stands for a value of the graph. */
  wrap(value: Value): tf.TensorInfo {
    const dataId = {};
    this.#values.set(dataId, value);
    this.#live += 1;
    return { dataId, shape: [...value.shape], dtype: value.dtype };
  }

  override write(values: tf.BackendValues, shape: number[], dtype: tf.DataType): object {
    const data = toTensorData(values, dtype);
    const spec = { shape, dtype: dtype as DType };
    // tf.zeros and tf.ones arrive here as whole arrays: as a number they cost nothing, whatever their size.
    const value = data[0];
    if (value !== undefined && data.every((element) => Object.is(element, value))) {
      return this.wrap(this.#active().one("fill", [], { value }, spec)).dataId;
    }
    if (data.byteLength > MAX_CONSTANT_BYTES) {
      throw new MarinError(
        "LEVANTER_LARGE_CONSTANT",
        `a compiled function creates a constant of ${data.byteLength} bytes, shape [${shape.join(",")}], at ${callerLine()}; the limit is ${MAX_CONSTANT_BYTES}: pass it as an input`,
        { data: { bytes: data.byteLength, shape, limit: MAX_CONSTANT_BYTES } },
      );
    }
    return this.wrap(this.#active().one("constant", [], { data }, spec)).dataId;
  }

  override move(dataId: object, values: tf.BackendValues, shape: number[], dtype: tf.DataType): void {
    const made = this.write(values, shape, dtype);
    this.#values.set(dataId, this.#values.get(made) as Value);
  }

  override read(): Promise<tf.BackendValues> {
    return Promise.reject(readError());
  }

  override readSync(): tf.BackendValues {
    throw readError();
  }

  override disposeData(dataId: object): boolean {
    if (this.#values.delete(dataId)) this.#live -= 1;
    return true;
  }

  override refCount(): number {
    return 1;
  }

  override incRef(): void {
    // Every tensor has an id of its own: nothing is shared, so nothing is counted.
  }

  override numDataIds(): number {
    return this.#live;
  }

  override memory(): { unreliable: boolean } {
    return { unreliable: true };
  }

  override floatPrecision(): 16 | 32 {
    return 32;
  }

  override epsilon(): number {
    return 1e-7;
  }

  override timerAvailable(): boolean {
    return false;
  }

  override dispose(): void {
    this.#builder = undefined;
  }

  #active(): GraphBuilder {
    if (this.#builder === undefined) {
      throw new MarinError("LEVANTER_NOT_TRACING", "the recording backend was used outside of a compilation; select another tfjs backend");
    }
    return this.#builder;
  }
}

function toTensorData(values: tf.BackendValues, dtype: tf.DataType): TensorData {
  const numbers = values as unknown as ArrayLike<number>;
  switch (dtype) {
    case "float32":
      return Float32Array.from(numbers);
    case "int32":
      return Int32Array.from(numbers);
    case "bool":
      return Uint8Array.from(numbers);
    default:
      throw new MarinError("LEVANTER_DTYPE", `a compiled function uses dtype ${dtype} at ${callerLine()}; float32, int32 and bool are supported`, { data: { dtype } });
  }
}

function readError(): MarinError {
  return new MarinError(
    "LEVANTER_TRACE_READ",
    `a compiled function reads the value of a tensor (dataSync, arraySync, print or a condition on it) at ${callerLine()}; values exist only when the program runs: return the tensor instead`,
  );
}

/** Stack frames kept while a function is traced: tfjs puts a dozen of its own between the user's line and a kernel. */
export const TRACE_STACK_FRAMES = 64;

/** The first stack frame outside of tfjs, of the recorder and of levanter's operations: where the user's function made the call. */
export function callerLine(error: Error = new Error()): string {
  const frames = (error.stack ?? "").split("\n").filter((line) => /^\s+at /.test(line));
  const frame = frames.find((line) => !/tfjs-core|[\\/]engine[\\/](recording-[\w-]+|trace|graph-builder|operator|ops[\\/][\w-]+)\.[jt]s|node:internal|<anonymous>/.test(line));
  return frame === undefined ? "an unknown place" : frame.trim().replace(/^at /, "");
}
