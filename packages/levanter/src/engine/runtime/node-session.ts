import { createRequire } from "node:module";
import type * as ort from "onnxruntime-node";
import { MarinError } from "@marin/iris";
import type { TensorData } from "../types.js";
import { ManagedBinding, ManagedSession } from "./managed-session.js";
import { requireVersion, runtimeVersion } from "./native-library.js";
import { requireFit } from "./runtime.js";
import type { Binding, BoundTensor, BoundTensors, Runtime, RuntimeSession, SessionOptions } from "./runtime.js";

// Not imported: where its binary is missing, Node reports the failure of an imported CommonJS module a second time, as an unhandled rejection
// that ends the process after the caller has caught the first.
const { InferenceSession, Tensor, env } = createRequire(import.meta.url)("onnxruntime-node") as typeof ort;

/**
 * ONNX Runtime through `onnxruntime-node`'s own `run()`, for platforms where koffi cannot load: every input and output is copied at each
 * call, and the call blocks the event loop. Same library, same results.
 *
 * @throws MarinError `LEVANTER_RUNTIME_VERSION` when another version of onnxruntime-node is installed
 */
export function nodeRuntime(): Runtime {
  requireVersion(env.versions.node ?? "an unknown version", "the installed onnxruntime-node");
  return { kind: "node", version: runtimeVersion, addressOf: undefined, createSession };
}

async function createSession(model: Uint8Array, options: SessionOptions): Promise<RuntimeSession> {
  const session = await guarded("compile the graph", () =>
    InferenceSession.create(model, {
      executionProviders: ["cpu"],
      executionMode: "sequential",
      graphOptimizationLevel: "all",
      enableMemPattern: false,
      enableCpuMemArena: true,
      intraOpNumThreads: options.threads,
      interOpNumThreads: 1,
      logSeverityLevel: 4,
      extra: { session: { intra_op: { allow_spinning: "0" }, strict_shape_type_inference: "1" } },
    }),
  );
  return new NodeSession(session);
}

class NodeSession extends ManagedSession {
  readonly #session: ort.InferenceSession;

  constructor(session: ort.InferenceSession) {
    super();
    this.#session = session;
  }

  protected override createBinding(inputs: BoundTensors, outputs: BoundTensors, onReleased: () => void): Binding {
    return new NodeBinding(this.#session, inputs, outputs, onReleased);
  }

  protected override release(): void {
    // The native release happens before the promise is made; there is nothing to wait for.
    void this.#session.release();
  }
}

class NodeBinding extends ManagedBinding {
  readonly #session: ort.InferenceSession;
  readonly #outputs: BoundTensors;
  #feeds: Readonly<Record<string, ort.Tensor>>;

  constructor(session: ort.InferenceSession, inputs: BoundTensors, outputs: BoundTensors, onReleased: () => void) {
    super(onReleased);
    this.#session = session;
    this.#feeds = Object.fromEntries(Object.entries(inputs).map(([name, tensor]) => [name, tensorOver(name, tensor)]));
    for (const [name, tensor] of Object.entries(outputs)) requireFit(name, tensor);
    this.#outputs = outputs;
  }

  protected override async compute(): Promise<void> {
    const results = await guarded("run the graph", () => this.#session.run(this.#feeds, Object.keys(this.#outputs)));
    for (const [name, output] of Object.entries(this.#outputs)) copyResult(name, results[name], output);
  }

  protected override release(): void {
    this.#feeds = {};
  }
}

function copyResult(name: string, result: ort.Tensor | undefined, output: BoundTensor): void {
  const data = result?.data;
  const dims = result?.dims.join(", ");
  if (data === undefined || dims !== output.shape.join(", ") || result?.type !== output.dtype) {
    throw new MarinError("LEVANTER_RUNTIME", `ONNX Runtime could not run the graph: its output "${name}" is ${result?.type ?? "absent"} [${dims ?? ""}], not ${output.dtype} [${output.shape.join(", ")}]`, {
      data: { name, expected: output.shape, found: result?.dims },
    });
  }
  output.data.set(data as TensorData);
  result.dispose();
}

function tensorOver(name: string, tensor: BoundTensor): ort.Tensor {
  requireFit(name, tensor);
  return new Tensor(tensor.dtype, tensor.data, tensor.shape);
}

async function guarded<T>(action: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("LEVANTER_RUNTIME", `ONNX Runtime could not ${action}: ${message}`, { cause, data: { action, message } });
  }
}
