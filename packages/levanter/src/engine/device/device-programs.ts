import * as tf from "@tensorflow/tfjs-core";
import { isMarinError, MarinError } from "@marin/iris";
import { requireBuffers, requireDistinct, requireDistinctGroups, requireEqualGroups, requireScalar } from "../buffer-checks.js";
import { explainGraph } from "../explain/explain-graph.js";
import type { ProgramExplanation } from "../explain/explanation.js";
import type { Graph } from "../graph.js";
import { inputName, outputName } from "../lowering/lower.js";
import type { LoweredModel } from "../lowering/lower.js";
import type { Pointer } from "../runtime/ort-api.js";
import { disposed } from "../runtime/runtime.js";
import { elementCount } from "../shape.js";
import type { BufferGroup, ElementwiseProgram, EngineBuffer, Program, ReduceProgram, Specs, TensorFunction } from "../types.js";
import type { DeviceContext } from "./device-context.js";
import type { DeviceBuffer, DeviceGroup } from "./device-group.js";
import type { DeviceSession } from "./device-session.js";

/** What programs need of their engine. */
export interface ProgramContext {
  readonly device: DeviceContext;
  /** The buffer as this engine's own; throws `LEVANTER_FOREIGN_BUFFER` for another engine's. */
  own(buffer: EngineBuffer | undefined): DeviceBuffer;
  /** Compiles a model, and remembers what was left to the CPU under the program's name. */
  compile(name: string, model: LoweredModel): Promise<DeviceSession>;
  /** Told of each program that was disposed. */
  forget(program: { dispose(): void }): void;
}

/** Sessions of one program, which end with it, after the calls under way. */
class ProgramSessions {
  readonly #context: ProgramContext;
  readonly #sessions = new Map<string, Promise<DeviceSession>>();
  #disposed = false;

  constructor(context: ProgramContext) {
    this.#context = context;
  }

  /** The session for a key, made at its first use. Called from work that the queue runs. */
  of(key: string, create: () => Promise<DeviceSession>): Promise<DeviceSession> {
    if (this.#disposed) throw disposed("program");
    const session = this.#sessions.get(key) ?? create();
    this.#sessions.set(key, session);
    return session;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    void this.#context.device.queue.run(async () => {
      for (const session of await Promise.allSettled(this.#sessions.values())) if (session.status === "fulfilled") session.value.release();
      this.#sessions.clear();
    });
  }
}

/** The key of a program's one session. */
const only = "";

/** Adds to the runtime's own errors which program they are about. */
export async function named<T>(program: string, work: Promise<T>): Promise<T> {
  try {
    return await work;
  } catch (error) {
    if (!isMarinError(error, "LEVANTER_RUNTIME")) throw error;
    throw new MarinError("LEVANTER_RUNTIME", `program "${program}": ${error.message}`, { data: { ...error.data, program }, cause: error });
  }
}

/** A function of fixed shapes, whose inputs and outputs stay on the device. */
export class DeviceProgram implements Program {
  readonly name: string;
  readonly inputs: Specs;
  readonly outputs: Specs;
  readonly #graph: Graph;
  readonly #read: ReadonlySet<string>;
  readonly #session: DeviceSession;
  readonly #sessions: ProgramSessions;
  readonly #context: ProgramContext;

  constructor(name: string, inputs: Specs, model: LoweredModel, session: DeviceSession, context: ProgramContext) {
    this.name = name;
    this.inputs = inputs;
    this.outputs = model.outputs;
    this.#graph = model.graph;
    this.#read = new Set(Object.keys(model.inputs));
    this.#session = session;
    this.#sessions = new ProgramSessions(context);
    void this.#sessions.of(only, () => Promise.resolve(session));
    this.#context = context;
  }

  async run(inputs: Readonly<Record<string, EngineBuffer>>, outputs: Readonly<Record<string, EngineBuffer>>): Promise<void> {
    const read = requireBuffers(`input of "${this.name}"`, this.inputs, inputs);
    const written = requireBuffers(`output of "${this.name}"`, this.outputs, outputs);
    requireDistinct(`"${this.name}"`, read, written);
    const sources = read.filter(([name]) => this.#read.has(name)).map(([name, buffer]) => [name, this.#context.own(buffer)] as const);
    const targets = written.map(([name, buffer]) => [name, this.#context.own(buffer)] as const);
    await this.#context.device.queue.run(async () => {
      await this.#sessions.of(only, () => Promise.resolve(this.#session));
      for (const [, buffer] of [...sources, ...targets]) buffer.requireLive();
      const given: Record<string, Pointer> = {};
      for (const [name, buffer] of sources) given[inputName(name)] = (await buffer.onDevice()).value;
      const wanted = Object.fromEntries(targets.map(([name, buffer]) => [outputName(name), buffer.onTarget().value]));
      await named(this.name, this.#session.run(given, wanted));
      for (const [, buffer] of targets) buffer.onWritten();
    });
  }

  explain(): Promise<ProgramExplanation> {
    return Promise.resolve({ ...explainGraph("onnx", this.#graph), leftToCpu: this.#session.leftToCpu });
  }

  dispose(): void {
    this.#context.forget(this);
    this.#sessions.dispose();
  }
}

/** The buffers of groups of equal layout, tensor by tensor, leaving out those without elements. */
function tensorsOf(specs: Specs, names: readonly string[], groups: Readonly<Record<string, BufferGroup>>, context: ProgramContext): readonly ReadonlyMap<string, DeviceBuffer>[] {
  return Object.entries(specs)
    .filter(([, spec]) => elementCount(spec.shape) > 0)
    .map(([tensor]) => new Map(names.map((name) => [name, context.own(groups[name]?.buffers[tensor])])));
}

/**
 * An element-wise program: one graph over vectors of any length, called once for each tensor of the groups. Results go to fresh memory, which then takes
 * the place of the replaced tensor's, so that only one tensor's worth of memory is held twice at a time.
 */
export class DeviceElementwise implements ElementwiseProgram {
  readonly #name: string;
  readonly #what: string;
  readonly #groups: readonly string[];
  readonly #inputs: readonly string[];
  readonly #outputs: readonly string[];
  readonly #scalars: DeviceGroup;
  readonly #session: DeviceSession;
  readonly #sessions: ProgramSessions;
  readonly #context: ProgramContext;

  /** @param scalars - one buffer for each scalar, of the program's own */
  constructor(name: string, groups: readonly string[], scalars: DeviceGroup, model: LoweredModel, session: DeviceSession, context: ProgramContext) {
    this.#name = name;
    this.#what = `element-wise program "${name}"`;
    this.#groups = groups;
    this.#inputs = Object.keys(model.inputs);
    this.#outputs = Object.keys(model.outputs);
    this.#scalars = scalars;
    this.#session = session;
    this.#sessions = new ProgramSessions(context);
    void this.#sessions.of(only, () => Promise.resolve(session));
    this.#context = context;
  }

  async run(groups: Readonly<Record<string, BufferGroup>>, scalars: Readonly<Record<string, number>>): Promise<void> {
    const specs = requireEqualGroups(this.#what, this.#groups, groups);
    requireDistinctGroups(this.#what, this.#groups, groups);
    const values = Object.keys(this.#scalars.specs).map((name) => [name, requireScalar(this.#what, name, scalars)] as const);
    const tensors = tensorsOf(specs, this.#groups, groups, this.#context);
    await this.#context.device.queue.run(async () => {
      await this.#sessions.of(only, () => Promise.resolve(this.#session));
      for (const tensor of tensors) for (const buffer of tensor.values()) buffer.requireLive();
      for (const [name, value] of values) this.#scalars.buffers[name]?.onHostData(Float32Array.of(value));
      for (const tensor of tensors) await this.#apply(tensor);
    });
  }

  async #apply(tensor: ReadonlyMap<string, DeviceBuffer>): Promise<void> {
    const { device } = this.#context;
    const inputs: Record<string, Pointer> = {};
    for (const name of this.#inputs) {
      const scalar = this.#scalars.buffers[name];
      inputs[inputName(name)] = scalar === undefined ? (await (tensor.get(name) as DeviceBuffer).onDevice()).flat() : (await scalar.onDevice()).value;
    }
    const results = this.#outputs.map((name) => {
      const buffer = tensor.get(name) as DeviceBuffer;
      return { name, buffer, made: device.allocate(buffer.spec) };
    });
    try {
      await named(this.#name, this.#session.run(inputs, Object.fromEntries(results.map(({ name: output, made }) => [outputName(output), made.flat()]))));
    } catch (error) {
      for (const { made } of results) made.release();
      throw error;
    }
    for (const { buffer, made } of results) buffer.onReplaced(made);
  }

  dispose(): void {
    this.#context.forget(this);
    this.#scalars.release();
    this.#sessions.dispose();
  }
}

/** A reduction: one graph for each layout of groups, giving a float32 sum for each tensor, added up in float64 in the order of the tensors. */
export class DeviceReduce implements ReduceProgram {
  readonly #name: string;
  readonly #fn: TensorFunction;
  readonly #groups: readonly string[];
  readonly #lower: (name: string, fn: TensorFunction, inputs: Specs) => LoweredModel;
  readonly #sessions: ProgramSessions;
  readonly #context: ProgramContext;

  /** @param lower - traces and lowers a function for the device */
  constructor(name: string, fn: TensorFunction, groups: readonly string[], lower: (name: string, fn: TensorFunction, inputs: Specs) => LoweredModel, context: ProgramContext) {
    this.#name = name;
    this.#fn = fn;
    this.#groups = groups;
    this.#lower = lower;
    this.#sessions = new ProgramSessions(context);
    this.#context = context;
  }

  async run(groups: Readonly<Record<string, BufferGroup>>): Promise<number> {
    const specs = requireEqualGroups(`reduction "${this.#name}"`, this.#groups, groups);
    const tensors = tensorsOf(specs, this.#groups, groups, this.#context);
    if (tensors.length === 0) return 0;
    const lengths = tensors.map((tensor) => elementCount(([...tensor.values()][0] as DeviceBuffer).spec.shape));
    return this.#context.device.queue.run(async () => {
      for (const tensor of tensors) for (const buffer of tensor.values()) buffer.requireLive();
      const session = await this.#sessions.of(lengths.join(" "), () => this.#compile(lengths));
      const inputs: Record<string, Pointer> = {};
      for (const [at, tensor] of tensors.entries()) {
        for (const [name, buffer] of tensor) inputs[inputName(`${name}/${at}`)] = (await buffer.onDevice()).flat();
      }
      const sums = new Float32Array(tensors.length);
      await named(this.#name, this.#context.device.runToHost(session, inputs, outputName("sums"), sums, { shape: [sums.length], dtype: "float32" }));
      return sums.reduce((total, sum) => total + sum, 0);
    });
  }

  #compile(lengths: readonly number[]): Promise<DeviceSession> {
    const inputs: Specs = Object.fromEntries(
      lengths.flatMap((length, at) => this.#groups.map((name) => [`${name}/${at}`, { shape: [length], dtype: "float32" }] as const)),
    );
    const all: TensorFunction = (tensors) => {
      const sums = lengths.map((_, at) => {
        const value = this.#fn(Object.fromEntries(this.#groups.map((name) => [name, tensors[`${name}/${at}`] as tf.Tensor])))["value"] as tf.Tensor;
        return tf.reshape(value, [1]);
      });
      return { sums: tf.concat(sums) };
    };
    return this.#context.compile(this.#name, this.#lower(this.#name, all, inputs));
  }

  dispose(): void {
    this.#context.forget(this);
    this.#sessions.dispose();
  }
}
