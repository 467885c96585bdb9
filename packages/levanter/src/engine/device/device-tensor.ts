import { countHandle } from "../runtime/ort-handles.js";
import type { Pointer } from "../runtime/ort-api.js";
import { bytesPerElement } from "../runtime/memory.js";
import { elementCount } from "../shape.js";
import type { DType, TensorSpec } from "../types.js";
import type { DeviceApi } from "./device-api.js";

/** `ONNXTensorElementDataType` of onnxruntime_c_api.h. */
export const elementTypes: Readonly<Record<DType, number>> = { float32: 1, int32: 6, bool: 9 };

/** Memory on a device as a tensor, owned until it is released. */
export class DeviceTensor {
  readonly spec: TensorSpec;
  readonly byteLength: number;
  readonly #api: DeviceApi;
  readonly #memoryInfo: Pointer;
  #value: Pointer;
  #flat: Pointer = 0n;

  constructor(api: DeviceApi, memoryInfo: Pointer, value: Pointer, spec: TensorSpec) {
    this.#api = api;
    this.#memoryInfo = memoryInfo;
    this.#value = value;
    this.spec = spec;
    this.byteLength = elementCount(spec.shape) * bytesPerElement[spec.dtype];
    countHandle("value", 1);
  }

  /** The runtime's value. */
  get value(): Pointer {
    if (this.#value === 0n) throw new RangeError("a device tensor was used after its release");
    return this.#value;
  }

  /** The same memory as a vector. */
  flat(): Pointer {
    if (this.#flat === 0n) {
      this.#flat = this.#api.createView(this.#memoryInfo, this.value, this.byteLength, [elementCount(this.spec.shape)], elementTypes[this.spec.dtype]);
      countHandle("value", 1);
    }
    return this.#flat;
  }

  /** Gives the memory back; calling it again does nothing. */
  release(): void {
    for (const value of [this.#flat, this.#value]) {
      if (value === 0n) continue;
      this.#api.ort.releaseValue(value);
      countHandle("value", -1);
    }
    this.#flat = 0n;
    this.#value = 0n;
  }
}
