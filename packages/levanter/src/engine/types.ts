import type * as tf from "@tensorflow/tfjs-core";
import type { ExplainOptions, ProgramExplanation } from "./explain/explanation.js";

/** Engines by name, as `engine` in a configuration selects them. `auto` is resolved by `selectEngine`. */
export type EngineName = "onnx" | "tfjs-node-gpu" | "tfjs-node" | "wasm" | "cpu";

/** Element types that engines hold. */
export type DType = "float32" | "int32" | "bool";

/** Shape and element type of one tensor. `[]` is a scalar. */
export interface TensorSpec {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** Tensor specs by name. The order of the keys is the order in memory and in every listing. */
export type Specs = Readonly<Record<string, TensorSpec>>;

/** Host-side data of a tensor, row-major. `bool` travels as `Uint8Array` of 0 and 1. */
export type TensorData = Float32Array | Int32Array | Uint8Array;

/** A function over tensors by name, written with `tf.*` and levanter's ops. It must not read tensor values. */
export type TensorFunction = (inputs: Readonly<Record<string, tf.Tensor>>) => Readonly<Record<string, tf.Tensor>>;

/** One tensor held by an engine between calls (in host memory or on a device). */
export interface EngineBuffer {
  readonly spec: TensorSpec;
  /** Copies the contents to a fresh host array. */
  read(): Promise<TensorData>;
  /**
   * Replaces the contents; programs handed in before still see the old ones. `data` is copied. Throws `LEVANTER_SHAPE` when the length or array
   * type does not fit the spec.
   */
  write(data: TensorData): void;
}

/**
 * Named buffers allocated together, zero-filled, in the order of their names. Two groups allocated with equal specs have equal layouts;
 * element-wise and reduction programs walk such groups side by side.
 */
export interface BufferGroup {
  readonly specs: Specs;
  readonly buffers: Readonly<Record<string, EngineBuffer>>;
  /** Bytes held, padding included. */
  readonly byteLength: number;
  /** Releases the memory. Using the group afterwards throws `LEVANTER_RELEASED`. */
  release(): void;
}

/** A compiled function with fixed input and output specs. */
export interface Program {
  readonly name: string;
  readonly inputs: Specs;
  readonly outputs: Specs;
  /**
   * Runs once: reads `inputs`, writes `outputs`. Every name of the specs must be present; an output may not share memory with an input.
   * Calls on one engine are executed one after the other.
   */
  run(inputs: Readonly<Record<string, EngineBuffer>>, outputs: Readonly<Record<string, EngineBuffer>>): Promise<void>;
  /** What the program consists of: every operation with its shapes, FLOPs and bytes, and where time goes. `formatExplanation` writes it as a table. */
  explain(options?: ExplainOptions): Promise<ProgramExplanation>;
  dispose(): void;
}

/** A compiled element-wise function over groups of equal layout, updating in place. */
export interface ElementwiseProgram {
  /**
   * Applies the function to every element. `groups` holds one group per group name given at compile time, all with equal specs; `scalars`
   * one number per scalar name. Each output replaces the contents of the group of the same name. Throws `LEVANTER_ALIASED` when one group is given
   * under two names.
   */
  run(groups: Readonly<Record<string, BufferGroup>>, scalars: Readonly<Record<string, number>>): Promise<void>;
  dispose(): void;
}

/** A compiled reduction of groups to one number. */
export interface ReduceProgram {
  /** Sums the function's scalar over all elements: partial sums are float32 on the engine, added up in float64 in a fixed order. */
  run(groups: Readonly<Record<string, BufferGroup>>): Promise<number>;
  dispose(): void;
}

/** Executes tensor functions. The one interface between levanter's models, optimizers and trainer and whatever computes. */
export interface Engine {
  readonly name: EngineName;
  /** One line for people: engine, runtime version, threads. */
  readonly description: string;
  /** Where it computes; `cpu` where it does not say. */
  readonly device?: "cpu" | "webgpu" | "cuda";
  /** Operators that the device's provider did not take, by program, as `gradients: OneHot x 2`; they run on the CPU, and their operands travel. */
  readonly leftToCpu?: readonly string[];
  /** Recorded in checkpoints: bits are promised for equal fingerprints only (engine, runtime version, CPU features). */
  readonly fingerprint: string;
  /** Allocates zero-filled buffers. */
  allocate(specs: Specs): BufferGroup;
  /** Compiles `fn` for inputs of exactly these specs. The output specs are those of the tensors it returns. */
  compile(name: string, fn: TensorFunction, inputs: Specs): Promise<Program>;
  /**
   * Compiles an element-wise update. `fn` receives one 1-D float32 tensor per group name and one scalar float32 tensor per scalar name, and returns
   * tensors named like the groups to replace. Throws `LEVANTER_NOT_ELEMENTWISE` when an operation mixes elements.
   */
  compileElementwise(name: string, fn: TensorFunction, groups: readonly string[], scalars: readonly string[]): Promise<ElementwiseProgram>;
  /**
   * Compiles a sum over all elements. `fn` receives one 1-D float32 tensor per group name and returns `{ value }`, a scalar; it is applied to
   * pieces of the groups and must be additive over pieces: a sum of something element-wise. The compiled engine throws `LEVANTER_NOT_ELEMENTWISE`
   * for anything else.
   */
  compileReduce(name: string, fn: TensorFunction, groups: readonly string[]): Promise<ReduceProgram>;
  /** Releases sessions and memory. */
  dispose(): Promise<void>;
}
