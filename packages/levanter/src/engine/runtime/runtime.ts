import { MarinError } from "@marin/iris";
import { elementCount } from "../shape.js";
import type { TensorData, TensorSpec } from "../types.js";

/** A tensor as a binding sees it: memory that stays where it is, and how to read it. */
export interface BoundTensor extends TensorSpec {
  /** The elements; exactly as many as `shape` asks for. Held by the binding for as long as it lives. */
  readonly data: TensorData;
}

/** Tensors of one call by the names that the graph gives them. */
export type BoundTensors = Readonly<Record<string, BoundTensor>>;

/** One prepared call of a session: fixed memory for every input and output, so that running allocates nothing. */
export interface Binding {
  /**
   * Reads the inputs' memory, computes, writes the outputs' memory. Nothing may write the inputs or read the outputs before it ends.
   *
   * @throws MarinError `LEVANTER_RUNTIME` with the runtime's message, `LEVANTER_RELEASED` after `dispose`
   */
  run(): Promise<void>;
  /** Lets go of the memory. A run that is under way ends first; calling it again does nothing. */
  dispose(): void;
}

/** A compiled graph. */
export interface RuntimeSession {
  /** Prepares a call. Symbolic dimensions take the extents of the tensors given here. */
  bind(inputs: BoundTensors, outputs: BoundTensors): Binding;
  /** Releases the graph and all its bindings. Runs that are under way end first; calling it again does nothing. */
  dispose(): void;
}

/** How a session computes. */
export interface SessionOptions {
  /** Threads within one operator. */
  readonly threads: number;
  /** When given, ONNX Runtime writes a profile of every run to a file of this prefix; the koffi runtime only. */
  readonly profilePrefix?: string;
}

/** A way to ONNX Runtime. */
export interface Runtime {
  readonly kind: "koffi" | "node";
  /** Version of ONNX Runtime. */
  readonly version: string;
  /** Address of an ArrayBuffer's first byte, where the runtime can tell it. Memory does not move while it lives. */
  readonly addressOf: ((buffer: ArrayBuffer) => bigint) | undefined;
  /**
   * Compiles a serialized ONNX model. The bytes are not needed afterwards.
   *
   * @throws MarinError `LEVANTER_RUNTIME` with the runtime's message
   */
  createSession(model: Uint8Array, options: SessionOptions): Promise<RuntimeSession>;
}

/** Throws `LEVANTER_SHAPE` unless the memory holds exactly the elements that the shape asks for. */
export function requireFit(name: string, tensor: BoundTensor): void {
  const count = elementCount(tensor.shape);
  if (tensor.data.length === count) return;
  throw new MarinError("LEVANTER_SHAPE", `tensor "${name}" of shape [${tensor.shape.join(", ")}] needs ${count} elements; its memory holds ${tensor.data.length}`, {
    data: { name, shape: tensor.shape, expected: count, found: tensor.data.length },
  });
}

/** The error for using a session or binding after its end. */
export function disposed(what: string): MarinError {
  return new MarinError("LEVANTER_RELEASED", `the ${what} was disposed and can no longer be used`);
}
