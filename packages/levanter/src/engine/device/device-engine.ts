import { availableParallelism } from "node:os";
import { MarinError } from "@marin/iris";
import { foreignBuffer } from "../buffer-checks.js";
import { compileElementwiseToOnnx, compileReduceToOnnx } from "../compile.js";
import { cpuFeatures } from "../cpu-features.js";
import { lower } from "../lowering/lower.js";
import type { LoweredModel } from "../lowering/lower.js";
import { optimize } from "../passes/optimize.js";
import { disposed } from "../runtime/runtime.js";
import { trace } from "../trace.js";
import type { BufferGroup, ElementwiseProgram, Engine, EngineBuffer, Program, ReduceProgram, Specs, TensorFunction } from "../types.js";
import type { DeviceName } from "./device-api.js";
import { DeviceContext } from "./device-context.js";
import type { Transfers } from "./device-context.js";
import { forDevice } from "./device-graph.js";
import { DeviceBuffer, DeviceGroup } from "./device-group.js";
import { DeviceElementwise, DeviceProgram, DeviceReduce, named } from "./device-programs.js";
import type { ProgramContext } from "./device-programs.js";
import { requireHalf } from "./precision.js";
import type { Precision } from "./precision.js";
import { vulkanReport } from "./vulkan.js";
import type { DeviceSession } from "./device-session.js";

/** How the compiled engine computes on a device. */
export interface DeviceEngineOptions {
  readonly device: DeviceName;
  /** CPU threads for the operators that the device leaves to the CPU. Default: all that the process may use. */
  readonly threads?: number;
  /** In what matrix products compute. Default: `float32`. */
  readonly precision?: Precision;
}

/**
 * The compiled engine on a device: the same graphs as on the CPU, run by ONNX Runtime's provider for that device. Buffers stay in the device's memory
 * between calls; `write` and `read` are the only ways there and back.
 */
export class DeviceEngine implements Engine {
  readonly name = "onnx";
  readonly device: DeviceName;
  readonly description: string;
  readonly fingerprint: string;
  readonly #context: DeviceContext;
  readonly #precision: Precision;
  readonly #groups = new Set<DeviceGroup>();
  readonly #programs = new Set<{ dispose(): void }>();
  readonly #left = new Map<string, readonly string[]>();
  readonly #programContext: ProgramContext;
  #disposed = false;

  private constructor(context: DeviceContext, where: string, precision: Precision) {
    this.#context = context;
    this.#precision = precision;
    this.device = context.device;
    const { version } = context.api.ort;
    const products = precision === "float32" ? "" : `, ${precision} products`;
    this.description = `onnx: ONNX Runtime ${version} on ${where}${products}`;
    // The CPU's part: operators that were left to it.
    this.fingerprint = `onnx ${version} ${where}${products}; ${cpuFeatures()}`;
    this.#programContext = {
      device: context,
      own: (buffer) => this.#own(buffer),
      compile: (name, model) => this.#session(name, model),
      forget: (program) => void this.#programs.delete(program),
    };
  }

  /**
   * Starts the device.
   *
   * @throws MarinError `LEVANTER_ENGINE_UNAVAILABLE` where the device or its provider cannot be used, `LEVANTER_RUNTIME_UNAVAILABLE`,
   * `LEVANTER_RUNTIME_VERSION`, `LEVANTER_CONFIG`; `LEVANTER_PRECISION` where the device lacks the precision
   */
  static async create(options: DeviceEngineOptions): Promise<DeviceEngine> {
    const threads = options.threads ?? availableParallelism();
    if (!Number.isSafeInteger(threads) || threads < 1) throw new MarinError("LEVANTER_CONFIG", `threads is ${threads}; it must be a whole number of at least 1`, { data: { threads } });
    const { device, precision = "float32" } = options;
    const context = await DeviceContext.create(device, threads);
    const adapters = device === "webgpu" ? (vulkanReport()?.adapters ?? []) : [];
    const where = adapters.length === 0 ? device : `${device} (${adapters.join(" or ")})`;
    if (precision !== "float32") await requireHalf(context, where);
    return new DeviceEngine(context, where, precision);
  }

  /** Operators that the device's provider did not take, by program: `gradients: OneHot x 2`. Empty where all of every program runs on the device. */
  get leftToCpu(): readonly string[] {
    return [...this.#left].flatMap(([program, operators]) => operators.map((operator) => `${program}: ${operator}`));
  }

  /** What went between host and device since the start. */
  get transfers(): Transfers {
    return this.#context.transfers;
  }

  allocate(specs: Specs): BufferGroup {
    return this.#allocate(specs);
  }

  async compile(name: string, fn: TensorFunction, inputs: Specs): Promise<Program> {
    const model = this.#lower(name, fn, inputs);
    const session = await this.#context.queue.run(() => this.#session(name, model));
    return this.#track(new DeviceProgram(name, inputs, model, session, this.#programContext));
  }

  async compileElementwise(name: string, fn: TensorFunction, groups: readonly string[], scalars: readonly string[]): Promise<ElementwiseProgram> {
    this.#requireAlive();
    const model = compileElementwiseToOnnx(name, fn, groups, scalars);
    const session = await this.#context.queue.run(() => this.#session(name, model));
    const own = this.#allocate(Object.fromEntries(scalars.map((scalar) => [scalar, { shape: [], dtype: "float32" }])));
    return this.#track(new DeviceElementwise(name, groups, own, model, session, this.#programContext));
  }

  compileReduce(name: string, fn: TensorFunction, groups: readonly string[]): Promise<ReduceProgram> {
    if (this.#disposed) return Promise.reject(disposed("engine"));
    // Only to refuse what is no sum; the graphs that run are made for the layouts of the groups given.
    compileReduceToOnnx(name, fn, groups);
    return Promise.resolve(this.#track(new DeviceReduce(name, fn, groups, (...args) => this.#lower(...args), this.#programContext)));
  }

  async dispose(): Promise<void> {
    this.#disposed = true;
    for (const program of [...this.#programs]) program.dispose();
    for (const group of [...this.#groups]) group.release();
    await this.#context.queue.run(() => {
      this.#context.release();
      return Promise.resolve();
    });
  }

  #lower(name: string, fn: TensorFunction, inputs: Specs): LoweredModel {
    this.#requireAlive();
    return lower(forDevice(optimize(trace(name, fn, inputs)), this.device, this.#precision));
  }

  async #session(name: string, model: LoweredModel): Promise<DeviceSession> {
    const session = await named(name, this.#context.createSession(model.bytes));
    this.#left.set(name, session.leftToCpu);
    return session;
  }

  #requireAlive(): void {
    if (this.#disposed) throw disposed("engine");
  }

  #allocate(specs: Specs): DeviceGroup {
    this.#requireAlive();
    const group = new DeviceGroup(specs, this.#context, () => this.#groups.delete(group));
    this.#groups.add(group);
    return group;
  }

  #track<T extends { dispose(): void }>(program: T): T {
    this.#programs.add(program);
    return program;
  }

  #own(buffer: EngineBuffer | undefined): DeviceBuffer {
    if (buffer instanceof DeviceBuffer && buffer.context === this.#context) return buffer;
    throw foreignBuffer();
  }
}
