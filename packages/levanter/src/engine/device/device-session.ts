import koffi from "koffi";
import { compileSession } from "../runtime/compile-session.js";
import { countHandle } from "../runtime/ort-handles.js";
import type { Pointer } from "../runtime/ort-api.js";
import type { DeviceApi, DeviceName } from "./device-api.js";

/** ONNX Runtime's name for what computes where a device's provider does not. */
const cpuProvider = "CPUExecutionProvider";

/** Values by the names that the graph gives them. */
export type DeviceValues = Readonly<Record<string, Pointer>>;

/** A graph compiled for a device. Inputs and outputs may lie in host memory or on the device; the runtime copies those that lie elsewhere than they are needed. */
export class DeviceSession {
  readonly session: Pointer;
  /** Operators that the device's provider did not take, each with how often, in alphabetical order: `OneHot x 2`. */
  readonly leftToCpu: readonly string[];
  readonly #api: DeviceApi;
  readonly #names = new Map<string, Buffer>();
  #released = false;

  private constructor(api: DeviceApi, session: Pointer) {
    this.#api = api;
    this.session = session;
    countHandle("session", 1);
    this.leftToCpu = operatorsOnCpu(api, session);
  }

  /** Compiles a serialized ONNX model. */
  static async create(api: DeviceApi, device: DeviceName, model: Uint8Array, threads: number): Promise<DeviceSession> {
    const session = await compileSession(api.ort, model, threads, (options) => {
      api.ort.addConfigEntry(options, "session.record_ep_graph_assignment_info", "1");
      api.appendProvider(options, device);
    });
    return new DeviceSession(api, session);
  }

  /** Computes the outputs, each of which must lie in memory of its size. */
  async run(inputs: DeviceValues, outputs: DeviceValues): Promise<void> {
    await this.#api.ort.run(this.session, {
      inputNames: this.#pointers(Object.keys(inputs)),
      inputs: BigUint64Array.from(Object.values(inputs)),
      outputNames: this.#pointers(Object.keys(outputs)),
      outputs: BigUint64Array.from(Object.values(outputs)),
    });
  }

  /** Lets the graph go; calling it again does nothing. */
  release(): void {
    if (this.#released) return;
    this.#released = true;
    this.#api.ort.releaseSession(this.session);
    countHandle("session", -1);
  }

  /** Addresses of the names as C strings, which this session holds. */
  #pointers(names: readonly string[]): BigUint64Array {
    return BigUint64Array.from(names, (name) => {
      let bytes = this.#names.get(name);
      if (bytes === undefined) {
        bytes = Buffer.from(`${name}\0`);
        this.#names.set(name, bytes);
      }
      return koffi.address(bytes);
    });
  }
}

function operatorsOnCpu(api: DeviceApi, session: Pointer): readonly string[] {
  const counts = new Map<string, number>();
  for (const { provider, operator } of api.placedNodes(session)) {
    if (provider === cpuProvider) counts.set(operator, (counts.get(operator) ?? 0) + 1);
  }
  return [...counts].sort(([a], [b]) => (a < b ? -1 : 1)).map(([operator, count]) => (count === 1 ? operator : `${operator} x ${count}`));
}
