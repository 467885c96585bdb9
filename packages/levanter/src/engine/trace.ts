import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { Graph, Value } from "./graph.js";
import { registerGradients } from "./gradients.js";
import { GraphBuilder } from "./graph-builder.js";
import { callerLine, RECORDING_BACKEND, RecordingBackend, TRACE_STACK_FRAMES } from "./recording-backend.js";
import { registerRecordingKernels } from "./recording-kernels.js";
import type { Specs, TensorFunction } from "./types.js";

registerGradients();

let recorder: RecordingBackend | undefined;

function recordingBackend(): RecordingBackend {
  if (recorder === undefined) {
    const backend = new RecordingBackend();
    tf.registerBackend(RECORDING_BACKEND, () => backend, 0);
    registerRecordingKernels();
    recorder = backend;
  }
  return recorder;
}

/** Makes a registered backend whose factory is synchronous the current one, at once. */
function switchBackend(name: string): void {
  // tfjs declares setBackend asynchronous; for a synchronous factory it has taken effect when the call returns.
  void tf.setBackend(name);
  if (tf.getBackend() !== name) {
    throw new MarinError("LEVANTER_BACKEND", `tfjs backend "${name}" did not become the current one`, { data: { backend: name } });
  }
}

/**
 * Runs `fn` once on symbolic tensors of these specs and returns what it did as a graph.
 *
 * @throws `LEVANTER_TRACE_READ` when `fn` reads a value, `LEVANTER_NO_LOWERING` when it uses an operation that does not compile,
 * `LEVANTER_CAPTURED_TENSOR` when it uses a tensor made elsewhere, `LEVANTER_LARGE_CONSTANT` when it creates a constant over 1 MiB,
 * `LEVANTER_NO_OUTPUTS` when it does not return tensors by name.
 */
export function trace(name: string, fn: TensorFunction, inputs: Specs): Graph {
  const backend = recordingBackend();
  const previous: string | undefined = tf.getBackend();
  const builder = new GraphBuilder(name);
  switchBackend(RECORDING_BACKEND);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = TRACE_STACK_FRAMES;
  backend.record(builder);
  tf.engine().startScope("trace");
  try {
    const tensors: Record<string, tf.Tensor> = {};
    for (const [key, spec] of Object.entries(inputs)) {
      const info = backend.wrap(builder.input(key, spec));
      tensors[key] = tf.engine().makeTensorFromTensorInfo(info);
    }
    const outputs = new Map<string, Value>();
    for (const [key, tensor] of outputsOf(name, fn(tensors))) outputs.set(key, backend.traced(tensor));
    return builder.finish(outputs);
  } catch (error) {
    throw explained(name, error);
  } finally {
    tf.engine().endScope();
    Error.stackTraceLimit = stackTraceLimit;
    backend.record(undefined);
    if (previous !== undefined && previous !== "" && previous !== RECORDING_BACKEND) switchBackend(previous);
  }
}

/** The tensors that a function returned, by name. */
function outputsOf(name: string, returned: unknown): (readonly [string, tf.Tensor])[] {
  const refuse = (what: string): never => {
    throw new MarinError("LEVANTER_NO_OUTPUTS", `the function of "${name}" returns ${what}; it must return tensors by name, such as { y }, at once`, { data: { program: name } });
  };
  if (returned instanceof tf.Tensor) return refuse("a tensor without a name");
  if (returned instanceof Promise) return refuse("a promise");
  const entries = Object.entries(returned ?? {});
  if (entries.length === 0) return refuse("nothing");
  return entries.map(([key, tensor]) => (tensor instanceof tf.Tensor ? [key, tensor] : refuse(`as "${key}" what is no tensor`)));
}

/** Turns tfjs's words for an unregistered kernel into a typed error. */
function explained(name: string, error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const kernel = /kernel '(\w+)'/i.exec(error.message)?.[1];
  if (kernel === undefined) return error;
  return new MarinError(
    "LEVANTER_NO_LOWERING",
    `operation ${kernel} in "${name}" does not compile (called at ${callerLine(error)}); use operations of the support table, or engine "cpu" or "wasm"`,
    { data: { kernel, program: name }, cause: error },
  );
}
