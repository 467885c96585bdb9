import type { OrtApi, Pointer } from "./ort-api.js";
import { countHandle } from "./ort-handles.js";

const sequential = 0;
const optimizeAll = 99;

/**
 * Compiles a serialized ONNX model with the options that all sessions have; docs/decisions/native-runtime.md says why these. The session belongs to the caller.
 *
 * @param threads - threads within one operator
 * @param configure - adds what this session has besides
 * @throws MarinError `LEVANTER_RUNTIME` with the runtime's message, and what `configure` throws
 */
export async function compileSession(api: OrtApi, model: Uint8Array, threads: number, configure: (options: Pointer) => void): Promise<Pointer> {
  const options = api.createSessionOptions();
  countHandle("options", 1);
  try {
    api.setExecutionMode(options, sequential);
    api.setOptimizationLevel(options, optimizeAll);
    api.disableMemoryPattern(options);
    api.enableCpuArena(options);
    api.setIntraOpThreads(options, threads);
    api.setInterOpThreads(options, 1);
    api.addConfigEntry(options, "session.intra_op.allow_spinning", "0");
    api.setDeterministicCompute(options, true);
    configure(options);
    return await api.createSession(model, options);
  } finally {
    api.releaseSessionOptions(options);
    countHandle("options", -1);
  }
}
