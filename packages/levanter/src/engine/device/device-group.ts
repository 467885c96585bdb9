import { MarinError } from "@marin/iris";
import { hostArray, requireData } from "../buffer-checks.js";
import { bytesPerElement } from "../runtime/memory.js";
import { elementCount } from "../shape.js";
import type { BufferGroup, EngineBuffer, Specs, TensorData, TensorSpec } from "../types.js";
import type { DeviceContext } from "./device-context.js";
import type { DeviceTensor } from "./device-tensor.js";

/** Buffers whose contents lie on a device from their first use in a program on. */
export class DeviceGroup implements BufferGroup {
  readonly specs: Specs;
  readonly buffers: Readonly<Record<string, DeviceBuffer>>;
  readonly #onRelease: () => void;

  constructor(specs: Specs, context: DeviceContext, onRelease: () => void) {
    this.specs = specs;
    this.buffers = Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, new DeviceBuffer(context, name, spec)]));
    this.#onRelease = onRelease;
  }

  get byteLength(): number {
    return Object.values(this.buffers).reduce((sum, buffer) => sum + buffer.byteLength, 0);
  }

  release(): void {
    for (const buffer of Object.values(this.buffers)) buffer.release();
    this.#onRelease();
  }
}

/** One tensor of a {@link DeviceGroup}. What begins with "on" is called from work that the context's queue runs. */
export class DeviceBuffer implements EngineBuffer {
  readonly spec: TensorSpec;
  readonly context: DeviceContext;
  readonly #name: string;
  /** Contents that are newer than the device's; without either, the contents are zeros. */
  #pending: TensorData | undefined;
  #tensor: DeviceTensor | undefined;
  #released = false;

  constructor(context: DeviceContext, name: string, spec: TensorSpec) {
    this.context = context;
    this.#name = name;
    this.spec = spec;
  }

  get byteLength(): number {
    return this.#released ? 0 : elementCount(this.spec.shape) * bytesPerElement[this.spec.dtype];
  }

  async read(): Promise<TensorData> {
    this.requireLive();
    return this.context.queue.run(async () => {
      const data = this.#pending?.slice() ?? hostArray(this.spec);
      if (this.#pending === undefined && this.#tensor !== undefined) await this.context.download(this.#tensor, data);
      return data;
    });
  }

  write(data: TensorData): void {
    requireData(this.#name, this.spec, data);
    this.requireLive();
    const copy = data.slice();
    if (!this.context.queue.busy) {
      this.#pending = copy;
      return;
    }
    void this.context.queue.run(() => {
      if (!this.#released) this.#pending = copy;
      return Promise.resolve();
    });
  }

  /** Throws `LEVANTER_RELEASED` after `release`. */
  requireLive(): void {
    if (this.#released) throw new MarinError("LEVANTER_RELEASED", "the buffer group was released and can no longer be used");
  }

  /** The contents on the device, taken there where they are not yet. */
  async onDevice(): Promise<DeviceTensor> {
    if (this.#pending === undefined && this.#tensor !== undefined) return this.#tensor;
    const tensor = this.onTarget();
    const data = this.#pending ?? hostArray(this.spec);
    this.#pending = undefined;
    await this.context.upload(data, tensor);
    return tensor;
  }

  /** Memory on the device for new contents, which the caller writes at once. */
  onTarget(): DeviceTensor {
    this.#tensor ??= this.context.allocate(this.spec);
    return this.#tensor;
  }

  /** Sets the contents, as `write` does outside of the queue; the array is kept. */
  onHostData(data: TensorData): void {
    this.#pending = data;
  }

  /** Says that the memory that {@link onTarget} gave holds the contents now. */
  onWritten(): void {
    this.#pending = undefined;
  }

  /** Takes over a tensor as the contents; the one before is released. */
  onReplaced(tensor: DeviceTensor): void {
    this.#tensor?.release();
    this.#tensor = tensor;
    this.#pending = undefined;
  }

  /** Gives the memory back when the programs handed in before have ended. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    void this.context.queue.run(() => {
      this.#tensor?.release();
      this.#tensor = undefined;
      this.#pending = undefined;
      return Promise.resolve();
    });
  }
}
