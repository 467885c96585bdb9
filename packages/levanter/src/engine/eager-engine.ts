import { setImmediate } from "node:timers/promises";
import * as tf from "@tensorflow/tfjs-core";
import { MarinError, isMarinError } from "@marin/iris";
import { foreignBuffer, hostArray, requireBuffers, requireData, requireDistinct, requireDistinctGroups, requireEqualGroups, requireScalar } from "./buffer-checks.js";
import { cpuFeatures } from "./cpu-features.js";
import { explainGraph } from "./explain/explain-graph.js";
import type { ProgramExplanation } from "./explain/explanation.js";
import { optimize } from "./passes/optimize.js";
import { disposed } from "./runtime/runtime.js";
import { elementCount } from "./shape.js";
import { startBackend } from "./tfjs-backends.js";
import type { EagerName } from "./tfjs-backends.js";
import { trace } from "./trace.js";
import type { BufferGroup, DType, ElementwiseProgram, Engine, EngineBuffer, Program, ReduceProgram, Specs, TensorData, TensorFunction, TensorSpec } from "./types.js";

/** Runs functions kernel by kernel on a tfjs backend: the oracle in tests (`cpu`), and what remains where nothing faster loads. */
export class EagerEngine implements Engine {
  readonly name: EagerName;
  readonly description: string;
  readonly fingerprint: string;
  readonly #backend: string;
  readonly #groups = new Set<EagerGroup>();
  #disposed = false;

  private constructor(name: EagerName, backend: string) {
    this.name = name;
    this.#backend = backend;
    this.description = `${name}: tfjs ${tf.version_core}, backend ${backend}`;
    this.fingerprint = `${name} ${tf.version_core}; ${cpuFeatures()}`;
  }

  /**
   * Starts the backend.
   *
   * @throws MarinError `LEVANTER_ENGINE_UNAVAILABLE` when it cannot be loaded
   */
  static async create(name: EagerName): Promise<EagerEngine> {
    return new EagerEngine(name, await startBackend(name));
  }

  allocate(specs: Specs): BufferGroup {
    if (this.#disposed) throw disposed("engine");
    const group = new EagerGroup(specs, this, () => this.#groups.delete(group));
    this.#groups.add(group);
    return group;
  }

  compile(name: string, fn: TensorFunction, inputs: Specs): Promise<Program> {
    if (this.#disposed) return Promise.reject(disposed("engine"));
    const outputs = this.#outputSpecs(name, fn, inputs);
    const run = async (given: Readonly<Record<string, EngineBuffer>>, results: Readonly<Record<string, EngineBuffer>>): Promise<void> => {
      const read = requireBuffers(`input of "${name}"`, inputs, given);
      const written = requireBuffers(`output of "${name}"`, outputs, results);
      requireDistinct(`"${name}"`, read, written);
      const tensors = Object.fromEntries(read.map(([key, buffer]) => [key, this.#own(buffer).tensor]));
      const targets = written.map(([key, buffer]) => [key, this.#own(buffer).writable()] as const);
      const made = this.on(() =>
        tf.tidy(() => {
          const results = fn(tensors);
          return Object.fromEntries(targets.map(([key]) => [key, ownCopy(requireTensor(name, key, results[key]))]));
        }),
      );
      for (const [key, target] of targets) target.replace(made[key] as tf.Tensor);
      await breathe();
    };
    const explain = (): Promise<ProgramExplanation> => Promise.resolve().then(() => explainGraph(this.name, optimize(trace(name, fn, inputs))));
    return Promise.resolve({ name, inputs, outputs, run, explain, dispose: () => undefined });
  }

  compileElementwise(name: string, fn: TensorFunction, groups: readonly string[], scalars: readonly string[]): Promise<ElementwiseProgram> {
    if (this.#disposed) return Promise.reject(disposed("engine"));
    const what = `element-wise program "${name}"`;
    const run = async (given: Readonly<Record<string, BufferGroup>>, values: Readonly<Record<string, number>>): Promise<void> => {
      const specs = requireEqualGroups(what, groups, given);
      requireDistinctGroups(what, groups, given);
      const numbers = scalars.map((scalar) => [scalar, requireScalar(what, scalar, values)] as const);
      for (const [tensor, spec] of Object.entries(specs)) {
        const made = this.on(() =>
          tf.tidy(() => {
            const inputs: Record<string, tf.Tensor> = this.#flatInputs(groups, given, tensor);
            for (const [scalar, value] of numbers) inputs[scalar] = tf.scalar(value, "float32");
            const results = Object.entries(fn(inputs));
            return Object.fromEntries(results.map(([group, result]) => [group, ownCopy(tf.reshape(requireFlat(what, group, spec, result), [...spec.shape]))]));
          }),
        );
        for (const [group, result] of Object.entries(made)) this.#own(given[group]?.buffers[tensor]).replace(result);
        await breathe();
      }
    };
    return Promise.resolve({ run, dispose: () => undefined });
  }

  compileReduce(name: string, fn: TensorFunction, groups: readonly string[]): Promise<ReduceProgram> {
    if (this.#disposed) return Promise.reject(disposed("engine"));
    const what = `reduction "${name}"`;
    const run = async (given: Readonly<Record<string, BufferGroup>>): Promise<number> => {
      const specs = requireEqualGroups(what, groups, given);
      let sum = 0;
      for (const [tensor, spec] of Object.entries(specs)) {
        if (elementCount(spec.shape) === 0) continue;
        sum += this.on(() => tf.tidy(() => requireTensor(name, "value", fn(this.#flatInputs(groups, given, tensor))["value"]).dataSync()[0] ?? Number.NaN));
        await breathe();
      }
      return sum;
    };
    return Promise.resolve({ run, dispose: () => undefined });
  }

  dispose(): Promise<void> {
    this.#disposed = true;
    for (const group of this.#groups) group.release();
    return Promise.resolve();
  }

  #own(buffer: EngineBuffer | undefined): EagerBuffer {
    if (buffer instanceof EagerBuffer && buffer.engine === this) return buffer;
    throw foreignBuffer();
  }

  #flatInputs(groups: readonly string[], given: Readonly<Record<string, BufferGroup>>, tensor: string): Record<string, tf.Tensor> {
    return Object.fromEntries(groups.map((group) => [group, tf.reshape(this.#own(given[group]?.buffers[tensor]).tensor, [-1])]));
  }

  /** tfjs has one current backend; everything that computes sets its own first and ends within the same turn of the event loop. */
  on<T>(work: () => T): T {
    // Declared asynchronous, but a started backend is current when the call returns.
    void tf.setBackend(this.#backend);
    return work();
  }

  /** Specs of what `fn` returns: by tracing, or by running it on zeros where it holds an operation that cannot be traced. */
  #outputSpecs(name: string, fn: TensorFunction, inputs: Specs): Specs {
    try {
      const outputs = trace(name, fn, inputs).outputs;
      return Object.fromEntries([...outputs].map(([key, value]) => [key, { shape: value.shape, dtype: value.dtype }]));
    } catch (error) {
      if (!isMarinError(error, "LEVANTER_NO_LOWERING")) throw error;
    }
    return this.on(() => {
      const specs: Record<string, TensorSpec> = {};
      tf.tidy(() => {
        const zeros = Object.fromEntries(Object.entries(inputs).map(([key, spec]) => [key, tensorOf(hostArray(spec), spec)]));
        for (const [key, tensor] of Object.entries(fn(zeros))) specs[key] = { shape: tensor.shape, dtype: tensor.dtype as DType };
      });
      return specs;
    });
  }
}

class EagerGroup implements BufferGroup {
  readonly specs: Specs;
  readonly buffers: Readonly<Record<string, EagerBuffer>>;
  readonly #onRelease: () => void;

  constructor(specs: Specs, engine: EagerEngine, onRelease: () => void) {
    this.specs = specs;
    this.buffers = Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, new EagerBuffer(name, spec, engine)]));
    this.#onRelease = onRelease;
  }

  get byteLength(): number {
    return Object.values(this.specs).reduce((sum, spec) => sum + hostArray({ ...spec, shape: [] }).BYTES_PER_ELEMENT * elementCount(spec.shape), 0);
  }

  release(): void {
    for (const buffer of Object.values(this.buffers)) buffer.release();
    this.#onRelease();
  }
}

class EagerBuffer implements EngineBuffer {
  readonly spec: TensorSpec;
  readonly #name: string;
  readonly engine: EagerEngine;
  #tensor: tf.Tensor | undefined;

  constructor(name: string, spec: TensorSpec, engine: EagerEngine) {
    this.#name = name;
    this.spec = spec;
    this.engine = engine;
    this.#tensor = engine.on(() => tensorOf(hostArray(spec), spec));
  }

  /** The tensor that holds the contents. Throws `LEVANTER_RELEASED` after the group's release. */
  get tensor(): tf.Tensor {
    if (this.#tensor === undefined) throw new MarinError("LEVANTER_RELEASED", "the buffer group was released and can no longer be used");
    return this.#tensor;
  }

  /** Itself. Throws `LEVANTER_RELEASED` after the group's release. */
  writable(): this {
    void this.tensor;
    return this;
  }

  /** Takes over `tensor` as the contents. */
  replace(tensor: tf.Tensor): void {
    const before = this.tensor;
    this.#tensor = tensor;
    before.dispose();
  }

  read(): Promise<TensorData> {
    // Synchronous, so that no other engine's backend is current half-way. The copy is the caller's; tfjs may hand out its own memory, and after a
    // cast an array of the type before.
    return Promise.resolve().then(() => {
      const copy = hostArray(this.spec);
      copy.set(this.engine.on(() => this.tensor.dataSync<"float32" | "int32" | "bool">()));
      return copy;
    });
  }

  write(data: TensorData): void {
    requireData(this.#name, this.spec, data);
    this.replace(this.engine.on(() => tensorOf(data.slice(), this.spec)));
  }

  release(): void {
    this.#tensor?.dispose();
    this.#tensor = undefined;
  }
}

function tensorOf(data: TensorData, spec: TensorSpec): tf.Tensor {
  return tf.tensor(data, [...spec.shape], spec.dtype);
}

/** A tensor that is nobody else's, over the same memory: a function may return an input, or one tensor under two names. */
function ownCopy(tensor: tf.Tensor): tf.Tensor {
  return tf.clone(tensor);
}

function requireTensor(program: string, name: string, tensor: tf.Tensor | undefined): tf.Tensor {
  if (tensor === undefined) throw new MarinError("LEVANTER_SHAPE", `"${program}" returned no "${name}"`, { data: { program, name } });
  return tensor;
}

function requireFlat(what: string, group: string, spec: TensorSpec, tensor: tf.Tensor): tf.Tensor {
  const expected = elementCount(spec.shape);
  if (tensor.dtype === "float32" && tensor.shape.length === 1 && tensor.size === expected) return tensor;
  throw new MarinError("LEVANTER_NOT_ELEMENTWISE", `${what}: "${group}" became ${tensor.dtype} [${tensor.shape.join(", ")}], not float32 [${expected}]`, {
    data: { group, expected: [expected], found: tensor.shape },
  });
}

/** Lets timers, signals and streams have their turn between pieces of work that block the event loop. */
async function breathe(): Promise<void> {
  await setImmediate();
}
