import koffi from "koffi";
import { loadOrtApi } from "../runtime/ort-api.js";
import type { OrtApi, Pointer } from "../runtime/ort-api.js";

/** Positions in the `OrtApi` function table, in the order of onnxruntime_c_api.h, of what only devices need. */
const table = {
  createTensor: 48,
  createTensorWithData: 49,
  getTensorMutableData: 51,
  createMemoryInfo: 68,
  createAllocator: 131,
  releaseAllocator: 132,
  appendCuda: 204,
  createCudaOptions: 205,
  releaseCudaOptions: 208,
  appendProvider: 216,
  getEpGraphAssignmentInfo: 407,
  assignedSubgraphProvider: 408,
  assignedSubgraphNodes: 409,
  assignedNodeOperator: 412,
} as const;

/** Providers of ONNX Runtime that compute on another device than the CPU. */
export type DeviceName = "webgpu" | "cuda";

/** Name of the memory in which a provider's tensors live. */
const memoryNames: Readonly<Record<DeviceName, string>> = { webgpu: "WebGPU_Buf", cuda: "Cuda" };

/** One node of a compiled graph, by the provider that computes it. */
export interface PlacedNode {
  /** ONNX Runtime's name of the provider. */
  readonly provider: string;
  /** ONNX operator. */
  readonly operator: string;
}

/** The parts of ONNX Runtime's C API by which tensors stay on a device; everything throws `LEVANTER_RUNTIME` with the runtime's own message. */
export interface DeviceApi {
  readonly ort: OrtApi;
  /** Makes a provider the first choice of sessions made with these options. Throws where the device or the provider's library is missing. */
  appendProvider(options: Pointer, device: DeviceName): void;
  /** Describes a device's memory; released with `ort.releaseMemoryInfo`. */
  createMemoryInfo(device: DeviceName): Pointer;
  /** An allocator of the device's memory, which belongs to a session; release it before the session. */
  createAllocator(session: Pointer, memoryInfo: Pointer): Pointer;
  releaseAllocator(allocator: Pointer): void;
  /** A tensor in an allocator's memory, its contents undefined; released with `ort.releaseValue`. */
  createTensor(allocator: Pointer, shape: readonly number[], elementType: number): Pointer;
  /** A second tensor of another shape over the same memory; it must be released first. */
  createView(memoryInfo: Pointer, tensor: Pointer, byteLength: number, shape: readonly number[], elementType: number): Pointer;
  /** Nodes of a session made with `session.record_ep_graph_assignment_info`, as far as the runtime reports them: at least those of the CPU. */
  placedNodes(session: Pointer): readonly PlacedNode[];
}

let loaded: DeviceApi | undefined;

/**
 * Loads ONNX Runtime's library, once per thread, for use with devices.
 *
 * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE`, `LEVANTER_RUNTIME_VERSION`
 */
export function loadDeviceApi(): DeviceApi {
  loaded ??= bindDeviceApi(loadOrtApi());
  return loaded;
}

function bindDeviceApi(ort: OrtApi): DeviceApi {
  const pointer = "void *";
  const appendProvider = ort.statusFunction(table.appendProvider, "use the provider", pointer, "str", pointer, pointer, "size_t");
  const createCudaOptions = ort.statusFunction(table.createCudaOptions, "describe the CUDA provider", pointer);
  const appendCuda = ort.statusFunction(table.appendCuda, "use the CUDA provider", pointer, pointer);
  const releaseCudaOptions = ort.releaseFunction(table.releaseCudaOptions);
  const createMemoryInfo = ort.statusFunction(table.createMemoryInfo, "describe device memory", "str", "int", "int", "int", pointer);
  const createAllocator = ort.statusFunction(table.createAllocator, "allocate on the device", pointer, pointer, pointer);
  const createTensor = ort.statusFunction(table.createTensor, "allocate a tensor on the device", pointer, pointer, "size_t", "int", pointer);
  const createTensorWithData = ort.statusFunction(table.createTensorWithData, "view a tensor on the device", pointer, pointer, "size_t", pointer, "size_t", "int", pointer);
  const getData = ort.statusFunction(table.getTensorMutableData, "find a tensor's memory", pointer, pointer);
  const getAssignment = ort.statusFunction(table.getEpGraphAssignmentInfo, "report where nodes run", pointer, pointer, pointer);
  const getProvider = ort.statusFunction(table.assignedSubgraphProvider, "report where nodes run", pointer, pointer);
  const getNodes = ort.statusFunction(table.assignedSubgraphNodes, "report where nodes run", pointer, pointer, pointer);
  const getOperator = ort.statusFunction(table.assignedNodeOperator, "report where nodes run", pointer, pointer);

  const filled = (fill: (slot: BigUint64Array) => void): Pointer => {
    const slot = new BigUint64Array(1);
    fill(slot);
    return slot[0] ?? 0n;
  };
  const list = (fill: (items: BigUint64Array, count: BigUint64Array) => void): readonly Pointer[] => {
    const [items, count] = [new BigUint64Array(1), new BigUint64Array(1)];
    fill(items, count);
    return Array.from({ length: Number(count[0]) }, (_, i) => koffi.decode(items[0], i * koffi.sizeof(pointer), pointer) as Pointer);
  };
  const text = (fill: (slot: BigUint64Array) => void): string => koffi.decode(filled(fill), "char", -1) as string;
  const extents = (shape: readonly number[]): BigInt64Array => BigInt64Array.from(shape, BigInt);

  return {
    ort,
    appendProvider: (options, device) => {
      if (device === "webgpu") {
        appendProvider(options, "WebGPU", null, null, 0);
        return;
      }
      const cuda = filled((slot) => createCudaOptions(slot));
      try {
        appendCuda(options, cuda);
      } finally {
        releaseCudaOptions(cuda);
      }
    },
    createMemoryInfo: (device) => filled((slot) => createMemoryInfo(memoryNames[device], 0, 0, 0, slot)),
    createAllocator: (session, memoryInfo) => filled((slot) => createAllocator(session, memoryInfo, slot)),
    releaseAllocator: ort.releaseFunction(table.releaseAllocator),
    createTensor: (allocator, shape, elementType) => filled((slot) => createTensor(allocator, extents(shape), shape.length, elementType, slot)),
    createView: (memoryInfo, tensor, byteLength, shape, elementType) => {
      const data = filled((slot) => getData(tensor, slot));
      return filled((slot) => createTensorWithData(memoryInfo, data, byteLength, extents(shape), shape.length, elementType, slot));
    },
    placedNodes: (session) =>
      list((items, count) => getAssignment(session, items, count)).flatMap((subgraph) => {
        const provider = text((slot) => getProvider(subgraph, slot));
        return list((items, count) => getNodes(subgraph, items, count)).map((node) => ({ provider, operator: text((slot) => getOperator(node, slot)) }));
      }),
  };
}
