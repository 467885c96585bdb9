import koffi from "koffi";
import type { DType } from "../types.js";
import { compileSession } from "./compile-session.js";
import { loadOrtApi } from "./ort-api.js";
import type { OrtApi, Pointer, RunArguments } from "./ort-api.js";
import { countHandle } from "./ort-handles.js";
import { ManagedBinding, ManagedSession } from "./managed-session.js";
import { requireFit } from "./runtime.js";
import type { Binding, BoundTensors, Runtime, SessionOptions } from "./runtime.js";

/** `ONNXTensorElementDataType` of onnxruntime_c_api.h. */
const elementTypes: Readonly<Record<DType, number>> = { float32: 1, int32: 6, bool: 9 };

/**
 * ONNX Runtime through its C API: tensors are the engine's own memory, and calls run on another thread.
 *
 * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE`, `LEVANTER_RUNTIME_VERSION`
 */
export function koffiRuntime(): Runtime {
  const api = loadOrtApi();
  return {
    kind: "koffi",
    version: api.version,
    addressOf: (buffer) => koffi.address(buffer),
    createSession: (model, options) => OrtSession.create(api, model, options),
  };
}

class OrtSession extends ManagedSession {
  readonly #api: OrtApi;
  readonly #session: Pointer;
  readonly #memoryInfo: Pointer;

  private constructor(api: OrtApi, session: Pointer) {
    super();
    this.#api = api;
    this.#session = session;
    countHandle("session", 1);
    this.#memoryInfo = api.createCpuMemoryInfo();
    countHandle("memoryInfo", 1);
  }

  static async create(api: OrtApi, model: Uint8Array, options: SessionOptions): Promise<OrtSession> {
    const session = await compileSession(api, model, options.threads, (native) => {
      // Shapes that were declared are checked, not replaced: a wrong one is an error when the graph is compiled.
      api.addConfigEntry(native, "session.strict_shape_type_inference", "1");
      if (options.profilePrefix !== undefined) api.enableProfiling(native, options.profilePrefix);
    });
    return new OrtSession(api, session);
  }

  protected override createBinding(inputs: BoundTensors, outputs: BoundTensors, onReleased: () => void): Binding {
    return new OrtBinding(this.#api, this.#session, this.#memoryInfo, inputs, outputs, onReleased);
  }

  protected override release(): void {
    this.#api.releaseMemoryInfo(this.#memoryInfo);
    countHandle("memoryInfo", -1);
    this.#api.releaseSession(this.#session);
    countHandle("session", -1);
  }
}

/**
 * One call's tensors. A native tensor does not keep its JavaScript memory alive, so the binding holds every array that a native pointer
 * points into: the tensors' data, the name strings, and the arrays of pointers.
 */
class OrtBinding extends ManagedBinding {
  readonly #api: OrtApi;
  readonly #session: Pointer;
  /** The call's arguments, and the arrays that native pointers point into. */
  #call: (RunArguments & { readonly held: readonly object[] }) | undefined;

  constructor(api: OrtApi, session: Pointer, memoryInfo: Pointer, inputs: BoundTensors, outputs: BoundTensors, onReleased: () => void) {
    super(onReleased);
    this.#api = api;
    this.#session = session;
    const held: object[] = [];
    const names = (tensors: BoundTensors): BigUint64Array =>
      BigUint64Array.from(Object.keys(tensors), (name) => {
        const bytes = Buffer.from(`${name}\0`);
        held.push(bytes);
        return koffi.address(bytes);
      });
    const made: Pointer[] = [];
    const values = (tensors: BoundTensors): BigUint64Array =>
      BigUint64Array.from(Object.entries(tensors), ([name, tensor]) => {
        requireFit(name, tensor);
        const value = api.createTensor(memoryInfo, tensor.data, BigInt64Array.from(tensor.shape, BigInt), elementTypes[tensor.dtype]);
        countHandle("value", 1);
        made.push(value);
        held.push(tensor.data);
        return value;
      });
    try {
      this.#call = { inputNames: names(inputs), inputs: values(inputs), outputNames: names(outputs), outputs: values(outputs), held };
    } catch (error) {
      for (const value of made) releaseValue(api, value);
      throw error;
    }
  }

  protected override async compute(): Promise<void> {
    if (this.#call !== undefined) await this.#api.run(this.#session, this.#call);
  }

  protected override release(): void {
    if (this.#call === undefined) return;
    for (const value of [...this.#call.inputs, ...this.#call.outputs]) releaseValue(this.#api, value);
    this.#call = undefined;
  }
}

function releaseValue(api: OrtApi, value: Pointer): void {
  api.releaseValue(value);
  countHandle("value", -1);
}
