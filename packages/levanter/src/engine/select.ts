import { MarinError, isMarinError } from "@marin/iris";
import type { Precision } from "./device/precision.js";
import type { EagerName } from "./tfjs-backends.js";
import type { Engine, EngineName } from "./types.js";

/** Where an engine computes. `webgpu` and `cuda` are the compiled engine's; `cuda` is `tfjs-node-gpu`'s too. */
export type EngineDevice = "auto" | "cpu" | "cuda" | "webgpu";

/** What to compute with. */
export interface EngineSelection {
  /** An engine by name, or `auto` for the best that works here. Default: `auto`. */
  readonly engine?: EngineName | "auto" | undefined;
  /**
   * Default: `auto`: the CPU, or CUDA where `tfjs-node-gpu` is installed and sees a GPU. The compiled engine goes to a GPU only where `webgpu` or
   * `cuda` is asked for: results differ in their last bits from the CPU's, and a run must not change them by where it is started.
   */
  readonly device?: EngineDevice | undefined;
  /**
   * In what matrix products compute: `float32`, or `float16` where a device has it (parameters, gradients and sums stay in float32). Not on the CPU, where the
   * runtime computes such products in float32. Default: `float32`.
   */
  readonly precision?: Precision | undefined;
  /** CPU threads of the compiled engine. Default: all that the process may use. */
  readonly threads?: number | undefined;
  /** Receives one line for each engine that `auto` had to pass over, saying what is missing and how to cure it. Default: a process warning. */
  readonly onNotice?: ((line: string) => void) | undefined;
  /** Also receive a line for an optional engine that was simply never installed. Default: false. */
  readonly verbose?: boolean | undefined;
}

/**
 * Starts an engine. `auto` takes the first that works of: `tfjs-node-gpu` (only where it is installed and sees a GPU), `onnx`, `wasm`, `cpu`. With device
 * `webgpu` or `cuda` it is `onnx` on that device, or an error that says what is missing.
 *
 * @throws MarinError `LEVANTER_ENGINE_UNAVAILABLE` (or the runtime's own error) when an engine asked for by name cannot run here;
 * `LEVANTER_RUNTIME_VERSION` when the installed ONNX Runtime is not the pinned one; `LEVANTER_PRECISION` for a precision that the device does not have;
 * `LEVANTER_CONFIG` for a name that is none
 */
export async function selectEngine(selection: EngineSelection = {}): Promise<Engine> {
  const { engine = "auto", device = "auto" } = selection;
  requireKnown("engine", engine, Object.keys(devicesOf));
  requireKnown("device", device, DEVICES);
  requireKnown("precision", selection.precision ?? "float32", PRECISIONS);
  const notice = selection.onNotice ?? ((line: string): void => process.emitWarning(line, "MarinEngine"));
  requireDevice(engine, device);
  if (device === "webgpu" || (device === "cuda" && engine !== "tfjs-node-gpu")) return startOnDevice(device, selection);
  if (selection.precision === "float16") await refuseHalf(engine, device);
  if (engine !== "auto") return start(engine, selection.threads, notice);
  const order: readonly EngineName[] = device === "cpu" ? ["onnx", "wasm"] : ["tfjs-node-gpu", "onnx", "wasm"];
  for (const name of order) {
    try {
      return await start(name, selection.threads, notice);
    } catch (error) {
      if (!isMarinError(error) || !passable.has(error.code)) throw error;
      if (error.data["reason"] !== "absent" || selection.verbose === true) notice(error.message);
    }
  }
  return start("cpu", selection.threads, notice);
}

/** Failures by which `auto` goes on to the next engine. A runtime of another version is not among them: it is an installation to be repaired. */
const passable: ReadonlySet<string> = new Set(["LEVANTER_ENGINE_UNAVAILABLE", "LEVANTER_RUNTIME_UNAVAILABLE"]);

async function start(name: EngineName, threads: number | undefined, notice: (line: string) => void): Promise<Engine> {
  if (name === "onnx") {
    const { OnnxEngine } = await import("./compiled-engine.js");
    return OnnxEngine.create({ onNotice: notice, ...(threads === undefined ? {} : { threads }) });
  }
  return startEager(name);
}

async function startOnDevice(device: "webgpu" | "cuda", { threads, precision = "float32" }: EngineSelection): Promise<Engine> {
  const { DeviceEngine } = await loadDevices(device);
  return DeviceEngine.create({ device, precision, ...(threads === undefined ? {} : { threads }) });
}

/** Devices are reached through koffi alone, whose native part is loaded with the module. */
async function loadDevices(device: string): Promise<typeof import("./device/device-engine.js")> {
  try {
    return await import("./device/device-engine.js");
  } catch (cause) {
    const [reason] = (cause as Error).message.split("\n");
    throw new MarinError("LEVANTER_RUNTIME_UNAVAILABLE", `device "${device}" is reached through koffi, which could not be loaded: ${reason ?? ""}. Reinstall it: pnpm install --force`, {
      cause,
      data: { device },
    });
  }
}

/** Loaded where it is needed only: it brings the compiled engine along. */
async function refuseHalf(engine: string, device: string): Promise<never> {
  const { precisionUnavailable } = await import("./device/precision.js");
  throw precisionUnavailable("float16", `engine "${engine}" on device "${device}"`, 'only devices "webgpu" and "cuda" of engine "onnx" have such products; on the CPU the runtime computes them in float32');
}

async function startEager(name: EagerName): Promise<Engine> {
  const { EagerEngine } = await import("./eager-engine.js");
  return EagerEngine.create(name);
}

const DEVICES: readonly EngineDevice[] = ["auto", "cpu", "webgpu", "cuda"];
const PRECISIONS: readonly Precision[] = ["float32", "float16"];

/** For callers whom no compiler checks. */
function requireKnown(field: string, value: string, known: readonly string[]): void {
  if (known.includes(value)) return;
  throw new MarinError("LEVANTER_CONFIG", `${field} is ${JSON.stringify(value)}; it must be one of ${known.join(", ")}`, { data: { field, value } });
}

function requireDevice(engine: EngineName | "auto", device: EngineDevice): void {
  const devices = devicesOf[engine];
  if (device === "auto" || devices.includes(device)) return;
  const fix = `Use device ${["auto", ...devices].map((name) => `"${name}"`).join(" or ")}${device === "cpu" ? "" : ', or engine "onnx"'}.`;
  throw new MarinError("LEVANTER_ENGINE_UNAVAILABLE", `engine "${engine}" does not compute on device "${device}". ${fix}`, { data: { engine, device } });
}

const devicesOf: Readonly<Record<EngineName | "auto", readonly EngineDevice[]>> = {
  auto: ["cpu", "webgpu", "cuda"],
  onnx: ["cpu", "webgpu", "cuda"],
  "tfjs-node-gpu": ["cuda"],
  "tfjs-node": ["cpu"],
  wasm: ["cpu"],
  cpu: ["cpu"],
};
