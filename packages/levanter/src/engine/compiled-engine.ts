import { availableParallelism, cpus } from "node:os";
import { isMarinError, MarinError } from "@marin/iris";
import { ArenaBuffer, ArenaGroup } from "./arena-group.js";
import { foreignBuffer, requireBuffers, requireDistinct } from "./buffer-checks.js";
import { ChunkedElementwise, ChunkedReduce } from "./chunked-programs.js";
import type { ChunkContext } from "./chunked-programs.js";
import { compileElementwiseToOnnx, compileReduceToOnnx, compileToOnnx } from "./compile.js";
import { cpuFeatures } from "./cpu-features.js";
import { explainGraph } from "./explain/explain-graph.js";
import type { ExplainOptions, ProgramExplanation } from "./explain/explanation.js";
import { profileModel } from "./explain/profile-model.js";
import type { ProfiledTimes } from "./explain/profile.js";
import { inputName, outputName } from "./lowering/lower.js";
import type { LoweredModel } from "./lowering/lower.js";
import { operatorFault } from "./operator-registry.js";
import { RunQueue } from "./run-queue.js";
import { loadRuntime } from "./runtime/load-runtime.js";
import { disposed } from "./runtime/runtime.js";
import type { Binding, BoundTensors, Runtime, RuntimeSession } from "./runtime/runtime.js";
import type { BufferGroup, ElementwiseProgram, Engine, EngineBuffer, Program, ReduceProgram, Specs, TensorFunction } from "./types.js";

interface Disposable {
  dispose(): void;
}

/** How the compiled engine computes. */
export interface OnnxEngineOptions {
  /** Threads within one operator, and pieces of element-wise programs computed at a time. Default: all that the process may use. */
  readonly threads?: number;
  /** Receives one line when ONNX Runtime is reached in a slower way than usual. Default: dropped. */
  readonly onNotice?: (line: string) => void;
}

/**
 * The compiled engine: functions are traced once, lowered to ONNX and run by ONNX Runtime on the CPU; buffers are host memory that its
 * kernels read and write in place.
 */
export class OnnxEngine implements Engine {
  readonly name = "onnx";
  readonly description: string;
  readonly fingerprint: string;
  readonly #runtime: Runtime;
  readonly #threads: number;
  readonly #queue = new RunQueue();
  readonly #groups = new Set<ArenaGroup>();
  /** Those not disposed yet. */
  readonly #programs = new Set<Disposable>();
  readonly #chunks: ChunkContext;
  #disposed = false;

  private constructor(runtime: Runtime, threads: number) {
    this.#runtime = runtime;
    this.#threads = threads;
    this.description = `onnx: ONNX Runtime ${runtime.version} (${runtime.kind}), ${threads} ${threads === 1 ? "thread" : "threads"}, ${cpus()[0]?.model.trim() ?? "unknown CPU"}`;
    // Not the number of threads: results do not depend on it.
    this.fingerprint = `onnx ${runtime.version} ${runtime.kind}; ${cpuFeatures()}`;
    this.#chunks = { queue: this.#queue, lanes: threads, addressOf: runtime.addressOf, own: (group) => this.#ownGroup(group), forget: (program) => this.#forget(program) };
  }

  /**
   * Loads the runtime.
   *
   * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE`, `LEVANTER_RUNTIME_VERSION`, `LEVANTER_CONFIG`
   */
  static async create(options: OnnxEngineOptions = {}): Promise<OnnxEngine> {
    const threads = options.threads ?? availableParallelism();
    if (!Number.isSafeInteger(threads) || threads < 1) throw new MarinError("LEVANTER_CONFIG", `threads is ${threads}; it must be a whole number of at least 1`, { data: { threads } });
    return new OnnxEngine(await loadRuntime(options.onNotice ?? (() => undefined)), threads);
  }

  allocate(specs: Specs): BufferGroup {
    if (this.#disposed) throw disposed("engine");
    const group = new ArenaGroup(specs, this.#queue, this.#runtime.addressOf);
    this.#groups.add(group);
    group.onRelease(() => this.#groups.delete(group));
    return group;
  }

  async compile(name: string, fn: TensorFunction, inputs: Specs): Promise<Program> {
    const model = compileToOnnx(name, fn, inputs);
    const session = await this.#createSession(model, this.#threads);
    return this.#track(new OnnxProgram(inputs, model, session, {
      queue: this.#queue, own: (buffer) => this.#ownBuffer(buffer), forget: (program) => this.#forget(program), profile: (profiled, data) => profileModel(this.#runtime, this.#threads, profiled, data),
    }));
  }

  async compileElementwise(name: string, fn: TensorFunction, groups: readonly string[], scalars: readonly string[]): Promise<ElementwiseProgram> {
    const model = compileElementwiseToOnnx(name, fn, groups, scalars);
    const session = await this.#createSession(model, 1);
    return this.#track(new ChunkedElementwise(name, session, groups, scalars, Object.keys(model.inputs), Object.keys(model.outputs), this.#chunks));
  }

  async compileReduce(name: string, fn: TensorFunction, groups: readonly string[]): Promise<ReduceProgram> {
    const model = compileReduceToOnnx(name, fn, groups);
    const session = await this.#createSession(model, 1);
    return this.#track(new ChunkedReduce(name, session, groups, Object.keys(model.inputs), this.#chunks));
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    await this.#queue.idle();
    for (const program of this.#programs) program.dispose();
    this.#programs.clear();
    for (const group of this.#groups) group.release();
  }

  async #createSession(model: LoweredModel, threads: number): Promise<RuntimeSession> {
    if (this.#disposed) throw disposed("engine");
    try {
      return await named(model.name, this.#runtime.createSession(model.bytes, { threads }));
    } catch (error) {
      throw (error instanceof Error ? operatorFault(model.name, error) : undefined) ?? error;
    }
  }

  #track<T extends Disposable>(program: T): T {
    this.#programs.add(program);
    return program;
  }

  #forget(program: Disposable): void {
    this.#programs.delete(program);
  }

  #ownBuffer(buffer: EngineBuffer): ArenaBuffer {
    if (buffer instanceof ArenaBuffer && buffer.group.queue === this.#queue) return buffer;
    throw foreignBuffer();
  }

  #ownGroup(group: BufferGroup): ArenaGroup {
    if (group instanceof ArenaGroup && group.queue === this.#queue) return group;
    throw foreignBuffer();
  }
}

/** Adds to the runtime's own errors which program they are about. */
async function named<T>(program: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isMarinError(error, "LEVANTER_RUNTIME")) throw error;
    throw new MarinError("LEVANTER_RUNTIME", `program "${program}": ${error.message}`, { data: { ...error.data, program }, cause: error });
  }
}

/** A call prepared for one set of buffers. */
interface PreparedCall {
  readonly binding: Binding;
  readonly unsubscribe: readonly (() => void)[];
}

/** What a program needs of its engine. */
interface ProgramContext {
  readonly queue: RunQueue;
  /** The buffer as this engine's own; throws `LEVANTER_FOREIGN_BUFFER` for another engine's. */
  own(buffer: EngineBuffer): ArenaBuffer;
  /** Told of each program that was disposed. */
  forget(program: Disposable): void;
  /** Measures where the model's time goes on these inputs; `undefined` where the runtime cannot tell. */
  profile(model: LoweredModel, inputs: BoundTensors): Promise<ProfiledTimes | undefined>;
}

type NamedArenaBuffers = readonly (readonly [string, ArenaBuffer])[];

class OnnxProgram implements Program {
  readonly name: string;
  readonly inputs: Specs;
  readonly outputs: Specs;
  readonly #model: LoweredModel;
  readonly #session: RuntimeSession;
  readonly #context: ProgramContext;
  /** Inputs that the graph reads: those that do not matter for the outputs may be gone from it. */
  readonly #read: ReadonlySet<string>;
  readonly #calls = new Map<string, PreparedCall>();
  /** What the latest run read. */
  #latest: NamedArenaBuffers = [];

  constructor(inputs: Specs, model: LoweredModel, session: RuntimeSession, context: ProgramContext) {
    this.name = model.name;
    this.inputs = inputs;
    this.outputs = model.outputs;
    this.#model = model;
    this.#session = session;
    this.#context = context;
    this.#read = new Set(Object.keys(model.inputs));
  }

  async run(inputs: Readonly<Record<string, EngineBuffer>>, outputs: Readonly<Record<string, EngineBuffer>>): Promise<void> {
    const read = requireBuffers(`input of "${this.name}"`, this.inputs, inputs);
    const written = requireBuffers(`output of "${this.name}"`, this.outputs, outputs);
    requireDistinct(`"${this.name}"`, read, written);
    const ownRead = read.filter(([name]) => this.#read.has(name)).map(([name, buffer]) => [inputName(name), this.#context.own(buffer)] as const);
    const ownWritten = written.map(([name, buffer]) => [outputName(name), this.#context.own(buffer)] as const);
    await this.#context.queue.run(() => named(this.name, this.#prepared(ownRead, ownWritten).run()));
  }

  async explain(options: ExplainOptions = {}): Promise<ProgramExplanation> {
    if (options.profile !== true) return explainGraph("onnx", this.#model.graph);
    const times = await this.#context.queue.run(() => {
      const latest = this.#latest.filter(([, buffer]) => !buffer.group.released);
      return named(this.name, this.#context.profile(this.#model, bound(latest)));
    });
    return explainGraph("onnx", this.#model.graph, times);
  }

  #prepared(read: NamedArenaBuffers, written: NamedArenaBuffers): Binding {
    this.#latest = read;
    const all = [...read, ...written];
    const key = all.map(([, buffer]) => buffer.id).join(" ");
    const known = this.#calls.get(key);
    if (known !== undefined) return known.binding;
    const binding = this.#session.bind(bound(read), bound(written));
    const groups = new Set(all.map(([, buffer]) => buffer.group));
    const unsubscribe = [...groups].map((group) => group.onRelease(() => this.#drop(key)));
    this.#calls.set(key, { binding, unsubscribe });
    return binding;
  }

  #drop(key: string): void {
    const call = this.#calls.get(key);
    if (call === undefined) return;
    this.#calls.delete(key);
    for (const unsubscribe of call.unsubscribe) unsubscribe();
    call.binding.dispose();
  }

  dispose(): void {
    this.#context.forget(this);
    for (const key of [...this.#calls.keys()]) this.#drop(key);
    this.#session.dispose();
  }
}

function bound(buffers: NamedArenaBuffers): BoundTensors {
  return Object.fromEntries(buffers.map(([name, buffer]) => [name, { ...buffer.spec, data: buffer.data }]));
}
