import { isMarinError } from "@marin/iris";
import { OnnxModel } from "../lowering/onnx-model.js";
import { RunQueue } from "../run-queue.js";
import { countHandle } from "../runtime/ort-handles.js";
import type { Pointer } from "../runtime/ort-api.js";
import { disposed } from "../runtime/runtime.js";
import { elementCount } from "../shape.js";
import type { DType, TensorData, TensorSpec } from "../types.js";
import { DeviceSession } from "./device-session.js";
import { DeviceTensor, elementTypes } from "./device-tensor.js";
import { loadDeviceApi } from "./device-api.js";
import type { DeviceApi, DeviceName } from "./device-api.js";
import { deviceUnavailable } from "./unavailable.js";

/** What went between host and device so far. */
export interface Transfers {
  readonly uploads: number;
  readonly uploadedBytes: number;
  readonly downloads: number;
  readonly downloadedBytes: number;
}

/** Calls on one device are made one after the other, whichever engine makes them: its sessions share a queue of commands. */
const queues = new Map<DeviceName, RunQueue>();

function queueOf(device: DeviceName): RunQueue {
  const queue = queues.get(device) ?? new RunQueue();
  queues.set(device, queue);
  return queue;
}

/**
 * One engine's access to a device: its memory, its sessions, and the way there and back. Everything but `create` and `queue` must be called from
 * work that the queue runs. After its release it throws `LEVANTER_RELEASED`.
 */
export class DeviceContext {
  readonly api: DeviceApi;
  readonly device: DeviceName;
  readonly queue: RunQueue;
  readonly #threads: number;
  readonly #memoryInfo: Pointer;
  readonly #cpuMemoryInfo: Pointer;
  readonly #copies = new Map<DType, DeviceSession>();
  #allocator = 0n;
  #released = false;
  #transfers: Transfers = { uploads: 0, uploadedBytes: 0, downloads: 0, downloadedBytes: 0 };

  private constructor(api: DeviceApi, device: DeviceName, threads: number) {
    this.api = api;
    this.device = device;
    this.#threads = threads;
    this.queue = queueOf(device);
    this.#memoryInfo = api.createMemoryInfo(device);
    this.#cpuMemoryInfo = api.ort.createCpuMemoryInfo();
    countHandle("memoryInfo", 1);
    countHandle("memoryInfo", 1);
  }

  /**
   * Starts the device.
   *
   * @throws MarinError `LEVANTER_ENGINE_UNAVAILABLE` saying what is missing, `LEVANTER_RUNTIME_UNAVAILABLE`, `LEVANTER_RUNTIME_VERSION`
   */
  static async create(device: DeviceName, threads: number): Promise<DeviceContext> {
    const context = new DeviceContext(loadDeviceApi(), device, threads);
    try {
      await context.queue.run(async () => {
        context.#allocator = context.api.createAllocator((await context.#copy("float32")).session, context.#memoryInfo);
      });
      return context;
    } catch (error) {
      context.release();
      throw isMarinError(error, "LEVANTER_RUNTIME") ? deviceUnavailable(device, context.api.ort.library, error) : error;
    }
  }

  get transfers(): Transfers {
    return this.#transfers;
  }

  /** Compiles a serialized ONNX model whose inputs and outputs stay on the device. */
  createSession(model: Uint8Array): Promise<DeviceSession> {
    this.#requireLive();
    return DeviceSession.create(this.api, this.device, model, this.#threads);
  }

  /** Memory on the device, its contents undefined. */
  allocate(spec: TensorSpec): DeviceTensor {
    this.#requireLive();
    const value = this.api.createTensor(this.#allocator, spec.shape, elementTypes[spec.dtype]);
    return new DeviceTensor(this.api, this.#memoryInfo, value, spec);
  }

  /** Copies host data to the device. */
  async upload(data: TensorData, target: DeviceTensor): Promise<void> {
    if (data.length === 0) return;
    const copy = await this.#copy(target.spec.dtype);
    await this.#withHost(data, target.spec.dtype, [data.length], (value) => copy.run({ x: value }, { y: target.flat() }));
    const { uploads, uploadedBytes } = this.#transfers;
    this.#transfers = { ...this.#transfers, uploads: uploads + 1, uploadedBytes: uploadedBytes + data.byteLength };
  }

  /** Copies a tensor's contents to `data`. */
  async download(source: DeviceTensor, data: TensorData): Promise<void> {
    if (data.length === 0) return;
    const copy = await this.#copy(source.spec.dtype);
    await this.runToHost(copy, { x: source.flat() }, "y", data, { shape: [data.length], dtype: source.spec.dtype });
  }

  /** Runs a session of one output and puts that into host memory. */
  async runToHost(session: DeviceSession, inputs: Readonly<Record<string, Pointer>>, output: string, data: TensorData, spec: TensorSpec): Promise<void> {
    await this.#withHost(data, spec.dtype, spec.shape, (value) => session.run(inputs, { [output]: value }));
    const { downloads, downloadedBytes } = this.#transfers;
    this.#transfers = { ...this.#transfers, downloads: downloads + 1, downloadedBytes: downloadedBytes + data.byteLength };
  }

  /** Ends all use of the device; tensors must have been released before. Calling it again does nothing. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    if (this.#allocator !== 0n) this.api.releaseAllocator(this.#allocator);
    for (const session of this.#copies.values()) session.release();
    this.#copies.clear();
    this.#allocator = 0n;
    for (const info of [this.#memoryInfo, this.#cpuMemoryInfo]) {
      this.api.ort.releaseMemoryInfo(info);
      countHandle("memoryInfo", -1);
    }
  }

  #requireLive(): void {
    if (this.#released) throw disposed("engine");
  }

  /** A session that copies: neither the runtime's interface nor its Node binding has a call for that. */
  async #copy(dtype: DType): Promise<DeviceSession> {
    const known = this.#copies.get(dtype);
    if (known !== undefined) return known;
    const model = new OnnxModel(`copy-${dtype}`);
    model.node("Identity", ["x"], ["y"]);
    model.input("x", dtype, ["N"]);
    model.output("y", dtype, ["N"]);
    const session = await this.createSession(model.encode());
    this.#copies.set(dtype, session);
    return session;
  }

  async #withHost(data: TensorData, dtype: DType, shape: readonly number[], use: (value: Pointer) => Promise<void>): Promise<void> {
    if (elementCount(shape) !== data.length) throw new RangeError(`${data.length} elements do not fill [${shape.join(", ")}]`);
    const value = this.api.ort.createTensor(this.#cpuMemoryInfo, data, BigInt64Array.from(shape, BigInt), elementTypes[dtype]);
    countHandle("value", 1);
    try {
      await use(value);
    } finally {
      this.api.ort.releaseValue(value);
      countHandle("value", -1);
    }
  }
}
