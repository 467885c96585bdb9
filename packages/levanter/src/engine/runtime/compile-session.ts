import type { OrtApi, Pointer } from "./ort-api.js";
import { countHandle } from "./ort-handles.js";

const sequential = 0;
const optimizeAll = 99;

/** A session's arena divides a free piece that is larger by more than this. The runtime's own 128 MiB give a tensor up to twice the memory that it needs. */
const deadBytes = 2 ** 16;

/** Compilations of this thread, one after the other: the arena that is registered is the one of the session being compiled. */
let compilations: Promise<unknown> = Promise.resolve();

/**
 * Compiles a serialized ONNX model with the options that all sessions have; docs/decisions/native-runtime.md says why these. The session belongs to the caller.
 *
 * @param threads - threads within one operator
 * @param configure - adds what this session has besides
 * @throws MarinError `LEVANTER_RUNTIME` with the runtime's message, and what `configure` throws
 */
export function compileSession(api: OrtApi, model: Uint8Array, threads: number, configure: (options: Pointer) => void): Promise<Pointer> {
  const compiled = compilations.then(() => compile(api, model, threads, configure));
  compilations = compiled.catch(() => undefined);
  return compiled;
}

async function compile(api: OrtApi, model: Uint8Array, threads: number, configure: (options: Pointer) => void): Promise<Pointer> {
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
    api.addConfigEntry(options, "session.use_env_allocators", "1");
    api.setDeterministicCompute(options, true);
    configure(options);
    return await withOwnArena(api, () => api.createSession(model, options));
  } finally {
    api.releaseSessionOptions(options);
    countHandle("options", -1);
  }
}

/** Runs work while an arena is registered for it. Another thread may have one registered at this moment: then the session shares that one. */
async function withOwnArena<T>(api: OrtApi, work: () => Promise<T>): Promise<T> {
  const registered = tried(() => api.registerCpuArena(deadBytes));
  try {
    return await work();
  } finally {
    if (registered) tried(() => api.unregisterCpuArena());
  }
}

function tried(work: () => void): boolean {
  try {
    work();
    return true;
  } catch {
    return false;
  }
}
