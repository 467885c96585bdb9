import koffi from "koffi";
import type { KoffiFunc, LibraryHandle, TypeObject } from "koffi";
import { MarinError } from "@marin/iris";
import { installedLibrary, requireVersion } from "./native-library.js";

/** A native pointer. 0n is null. */
export type Pointer = bigint;

/** Version of the C API's function table that is asked for; the table only ever grows at its end. */
const apiVersion = 24;

/**
 * ONNX Runtime's calls run on stacks that koffi allocates, whose default of 128 KiB for asynchronous calls is less than what graph
 * optimization and kernels may take. The memory is touched only as far as it is used.
 */
const stackBytes = 8 * 1024 * 1024;

/** `OrtArenaAllocator` of onnxruntime_c_api.h. */
const arenaAllocator = 1;
/** A setting of an arena that the runtime chooses. */
const byDefault = -1;

/** Positions in the `OrtApi` function table, in the order of onnxruntime_c_api.h. */
const table = {
  getErrorMessage: 2,
  createEnv: 3,
  disableTelemetryEvents: 6,
  createSessionFromArray: 8,
  run: 9,
  createSessionOptions: 10,
  setSessionExecutionMode: 13,
  enableProfiling: 14,
  disableMemPattern: 17,
  enableCpuMemArena: 18,
  setSessionGraphOptimizationLevel: 23,
  setIntraOpNumThreads: 24,
  setInterOpNumThreads: 25,
  createTensorWithData: 49,
  createCpuMemoryInfo: 69,
  releaseStatus: 93,
  releaseMemoryInfo: 94,
  releaseSession: 95,
  releaseValue: 96,
  releaseSessionOptions: 100,
  addSessionConfigEntry: 130,
  createAndRegisterAllocator: 144,
  createArenaConfig: 156,
  releaseArenaConfig: 157,
  unregisterAllocator: 177,
  setDeterministicCompute: 273,
} as const;

type StatusCall = KoffiFunc<(...args: readonly unknown[]) => Pointer | null>;
type VoidCall = KoffiFunc<(...args: readonly unknown[]) => void>;

/** The functions of ONNX Runtime's C API that the engine uses; each throws `LEVANTER_RUNTIME` with the runtime's own message. */
export interface OrtApi {
  /** Path of the loaded library. */
  readonly library: string;
  /** Version of the loaded library, equal to the pinned one. */
  readonly version: string;
  /** The process's environment; never released, since other threads share it. */
  readonly env: Pointer;
  createSessionOptions(): Pointer;
  releaseSessionOptions(options: Pointer): void;
  setExecutionMode(options: Pointer, mode: number): void;
  enableProfiling(options: Pointer, prefix: string): void;
  disableMemoryPattern(options: Pointer): void;
  enableCpuArena(options: Pointer): void;
  setOptimizationLevel(options: Pointer, level: number): void;
  setIntraOpThreads(options: Pointer, threads: number): void;
  setInterOpThreads(options: Pointer, threads: number): void;
  addConfigEntry(options: Pointer, key: string, value: string): void;
  setDeterministicCompute(options: Pointer, on: boolean): void;
  /**
   * Makes a CPU arena that sessions take which are created while it is registered, with `session.use_env_allocators`; they keep it.
   *
   * @param maxDeadBytes - a piece of free memory that is larger than what is asked for by more than this is divided
   */
  registerCpuArena(maxDeadBytes: number): void;
  /** Takes the arena back that was registered, from sessions to come. */
  unregisterCpuArena(): void;
  /** Parses, optimizes and plans a model. The bytes are not needed afterwards. */
  createSession(model: Uint8Array, options: Pointer): Promise<Pointer>;
  releaseSession(session: Pointer): void;
  createCpuMemoryInfo(): Pointer;
  releaseMemoryInfo(info: Pointer): void;
  /** A tensor over memory that the caller owns and must keep for as long as the value lives. */
  createTensor(info: Pointer, data: ArrayBufferView, shape: BigInt64Array, elementType: number): Pointer;
  releaseValue(value: Pointer): void;
  run(session: Pointer, call: RunArguments): Promise<void>;
  /** A function at a position of the table that only some engines need: returns a status, which is thrown where it is a failure to do `what`. */
  statusFunction(position: number, what: string, ...types: readonly string[]): (...args: readonly unknown[]) => void;
  /** A function at a position of the table that releases a native object. */
  releaseFunction(position: number): (object: Pointer) => void;
}

/** Arrays of native pointers for one call, kept alive by their owner until the call has ended. */
export interface RunArguments {
  readonly inputNames: BigUint64Array;
  readonly inputs: BigUint64Array;
  readonly outputNames: BigUint64Array;
  readonly outputs: BigUint64Array;
}

let loaded: OrtApi | undefined;

/** koffi unloads a library when its handle is collected; functions decoded from pointers do not keep it. So it is held here for good. */
const heldLibraries: LibraryHandle[] = [];

/**
 * Loads ONNX Runtime's library once per thread.
 *
 * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE` when the library is absent or cannot be loaded, `LEVANTER_RUNTIME_VERSION` when it is
 * of another version than the pinned one.
 */
export function loadOrtApi(): OrtApi {
  loaded ??= openLibrary(installedLibrary());
  return loaded;
}

function openLibrary(path: string): OrtApi {
  configureStacks();
  let base: { GetApi: Pointer; GetVersionString: Pointer };
  try {
    const baseType = koffi.struct({ GetApi: "void *", GetVersionString: "void *" });
    const library = koffi.load(path);
    heldLibraries.push(library);
    const getApiBase = library.func("OrtGetApiBase", "void *", []) as KoffiFunc<() => Pointer>;
    base = koffi.decode(getApiBase(), baseType) as typeof base;
  } catch (cause) {
    throw new MarinError("LEVANTER_RUNTIME_UNAVAILABLE", `${path} could not be loaded: ${(cause as Error).message}`, { cause, data: { library: path } });
  }
  const version = (koffi.decode(base.GetVersionString, koffi.proto("str", [])) as () => string)();
  requireVersion(version, path);
  const getApi = koffi.decode(base.GetApi, koffi.proto("void *", ["uint32_t"])) as (version: number) => Pointer;
  return bindApi(path, version, getApi(apiVersion));
}

function configureStacks(): void {
  const { sync_stack_size: sync = 0, async_stack_size: async = 0 } = koffi.config();
  if (Math.min(sync, async) >= stackBytes) return;
  try {
    koffi.config({ sync_stack_size: stackBytes, async_stack_size: stackBytes });
  } catch (cause) {
    throw new MarinError(
      "LEVANTER_RUNTIME_UNAVAILABLE",
      "koffi was already used in this process, so that the stacks of its calls can no longer be made large enough for ONNX Runtime. Load the engine first.",
      { cause },
    );
  }
}

function bindApi(library: string, version: string, api: Pointer): OrtApi {
  const pointerBytes = koffi.sizeof("void *");
  const functionAt = (index: number, result: string, types: readonly (string | TypeObject)[]): unknown =>
    koffi.decode(koffi.decode(api, index * pointerBytes, "void *") as Pointer, koffi.proto(result, [...types]));
  const status = (index: number, ...types: readonly string[]): StatusCall => functionAt(index, "void *", types) as StatusCall;
  const release = (index: number): VoidCall => functionAt(index, "void", ["void *"]) as VoidCall;

  const getErrorMessage = functionAt(table.getErrorMessage, "str", ["void *"]) as (status: Pointer) => string;
  const releaseStatus = release(table.releaseStatus);
  const failureOf = (what: string, result: Pointer | null): MarinError | undefined => {
    if (result === null || result === 0n) return undefined;
    const message = getErrorMessage(result);
    releaseStatus(result);
    return new MarinError("LEVANTER_RUNTIME", `ONNX Runtime could not ${what}: ${message}`, { data: { action: what, message } });
  };
  const check = (what: string, result: Pointer | null): void => {
    const failure = failureOf(what, result);
    if (failure !== undefined) throw failure;
  };
  // What a call under way points into must not be collected before it has ended.
  const underWay = new Set<readonly unknown[]>();
  const later = (what: string, call: StatusCall, args: readonly unknown[]): Promise<void> =>
    new Promise((resolve, reject) => {
      underWay.add(args);
      call.async(...args, (error: Error | null, result: Pointer | null) => {
        underWay.delete(args);
        const failure = error ?? failureOf(what, result);
        if (failure === undefined) resolve();
        else reject(failure);
      });
    });
  const created = (slot: BigUint64Array): Pointer => slot[0] ?? 0n;

  const createEnv = status(table.createEnv, "int", "str", "void *");
  const disableTelemetry = status(table.disableTelemetryEvents, "void *");
  const createOptions = status(table.createSessionOptions, "void *");
  const setExecutionMode = status(table.setSessionExecutionMode, "void *", "int");
  const enableProfiling = status(table.enableProfiling, "void *", process.platform === "win32" ? "str16" : "str");
  const disableMemPattern = status(table.disableMemPattern, "void *");
  const enableCpuMemArena = status(table.enableCpuMemArena, "void *");
  const setLevel = status(table.setSessionGraphOptimizationLevel, "void *", "int");
  const setIntraOp = status(table.setIntraOpNumThreads, "void *", "int");
  const setInterOp = status(table.setInterOpNumThreads, "void *", "int");
  const addConfigEntry = status(table.addSessionConfigEntry, "void *", "str", "str");
  const setDeterministic = status(table.setDeterministicCompute, "void *", "bool");
  const createSession = status(table.createSessionFromArray, "void *", "void *", "size_t", "void *", "void *");
  const createMemoryInfo = status(table.createCpuMemoryInfo, "int", "int", "void *");
  const createArenaConfig = status(table.createArenaConfig, "size_t", "int", "int", "int", "void *");
  const releaseArenaConfig = release(table.releaseArenaConfig);
  const registerAllocator = status(table.createAndRegisterAllocator, "void *", "void *", "void *");
  const unregisterAllocator = status(table.unregisterAllocator, "void *", "void *");
  const createTensor = status(table.createTensorWithData, "void *", "void *", "size_t", "void *", "size_t", "int", "void *");
  const run = status(table.run, "void *", "void *", "void *", "void *", "size_t", "void *", "size_t", "void *");

  const envSlot = new BigUint64Array(1);
  // Only fatal messages: whatever fails is thrown with the runtime's own message, and normal runs print nothing.
  check("create its environment", createEnv(4, "levanter", envSlot));
  const env = created(envSlot);
  check("disable telemetry", disableTelemetry(env));
  const arenaInfo = new BigUint64Array(1);
  check("describe CPU memory", createMemoryInfo(arenaAllocator, 0, arenaInfo));

  const runArgs = (session: Pointer, call: RunArguments): readonly unknown[] => [
    session,
    null,
    call.inputNames,
    call.inputs,
    call.inputs.length,
    call.outputNames,
    call.outputs.length,
    call.outputs,
  ];
  return {
    library,
    version,
    env,
    createSessionOptions: () => {
      const slot = new BigUint64Array(1);
      check("create session options", createOptions(slot));
      return created(slot);
    },
    releaseSessionOptions: release(table.releaseSessionOptions),
    setExecutionMode: (options, mode) => check("set the execution mode", setExecutionMode(options, mode)),
    enableProfiling: (options, prefix) => check("enable profiling", enableProfiling(options, prefix)),
    disableMemoryPattern: (options) => check("disable the memory pattern", disableMemPattern(options)),
    enableCpuArena: (options) => check("enable the CPU arena", enableCpuMemArena(options)),
    setOptimizationLevel: (options, level) => check("set the optimization level", setLevel(options, level)),
    setIntraOpThreads: (options, threads) => check("set the number of threads", setIntraOp(options, threads)),
    setInterOpThreads: (options, threads) => check("set the number of threads", setInterOp(options, threads)),
    addConfigEntry: (options, key, value) => check(`set ${key}`, addConfigEntry(options, key, value)),
    setDeterministicCompute: (options, on) => check("set deterministic compute", setDeterministic(options, on)),
    registerCpuArena: (maxDeadBytes) => {
      const slot = new BigUint64Array(1);
      check("describe an arena", createArenaConfig(0, byDefault, byDefault, maxDeadBytes, slot));
      try {
        check("register an arena", registerAllocator(env, created(arenaInfo), created(slot)));
      } finally {
        releaseArenaConfig(created(slot));
      }
    },
    unregisterCpuArena: () => check("take an arena back", unregisterAllocator(env, created(arenaInfo))),
    createSession: async (model, options) => {
      const slot = new BigUint64Array(1);
      await later("compile the graph", createSession, [env, model, model.byteLength, options, slot]);
      return created(slot);
    },
    releaseSession: release(table.releaseSession),
    createCpuMemoryInfo: () => {
      const slot = new BigUint64Array(1);
      check("describe CPU memory", createMemoryInfo(0, 0, slot));
      return created(slot);
    },
    releaseMemoryInfo: release(table.releaseMemoryInfo),
    createTensor: (info, data, shape, elementType) => {
      const slot = new BigUint64Array(1);
      check("bind a tensor", createTensor(info, data, data.byteLength, shape, shape.length, elementType, slot));
      return created(slot);
    },
    releaseValue: release(table.releaseValue),
    run: (session, call) => later("run the graph", run, runArgs(session, call)),
    statusFunction: (position, what, ...types) => {
      const call = status(position, ...types);
      return (...args) => check(what, call(...args));
    },
    releaseFunction: release,
  };
}
