import { createRequire } from "node:module";
import { dirname, sep } from "node:path";
import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { EngineName } from "./types.js";

/** Engines that run tfjs kernels at once, without compiling. */
export type EagerName = Exclude<EngineName, "onnx">;

const require = createRequire(import.meta.url);

/** Name under which tfjs registers the backend that computes for an engine. */
const backendNames: Readonly<Record<EagerName, string>> = { cpu: "cpu", wasm: "wasm", "tfjs-node": "tensorflow", "tfjs-node-gpu": "tensorflow" };

/**
 * Loads and starts the tfjs backend of an engine.
 *
 * @returns the backend's name in tfjs
 * @throws MarinError `LEVANTER_ENGINE_UNAVAILABLE`, saying what is missing and the command that cures it
 */
export async function startBackend(engine: EagerName): Promise<string> {
  const backend = backendNames[engine];
  try {
    await load[engine]();
    const previous: string | undefined = tf.getBackend();
    if (!(await tf.setBackend(backend))) throw new Error(`tfjs could not start its backend "${backend}"`);
    await tf.ready();
    if (engine === "tfjs-node-gpu") requireGpu();
    if (engine === "cpu") silenceGreeting();
    if (previous !== undefined && previous !== "") await tf.setBackend(previous);
  } catch (cause) {
    throw unavailable(engine, cause);
  }
  return backend;
}

const load: Readonly<Record<EagerName, () => Promise<void>>> = {
  cpu: async () => {
    await import("@tensorflow/tfjs-backend-cpu");
  },
  wasm: async () => {
    const { setWasmPaths } = await import("@tensorflow/tfjs-backend-wasm");
    // In Node the package looks for its binaries in the working directory unless told where it lies itself.
    setWasmPaths(dirname(require.resolve("@tensorflow/tfjs-backend-wasm")) + sep);
  },
  "tfjs-node": () => loadNative("@tensorflow/tfjs-node"),
  "tfjs-node-gpu": () => loadNative("@tensorflow/tfjs-node-gpu"),
};

/** These packages are the user's own to install: their install scripts download a native library from outside the npm registry. */
async function loadNative(name: "@tensorflow/tfjs-node" | "@tensorflow/tfjs-node-gpu"): Promise<void> {
  if (name === "@tensorflow/tfjs-node") require("@tensorflow/tfjs-node");
  else require("@tensorflow/tfjs-node-gpu");
  if (tf.findBackendFactory("tensorflow") === null) {
    throw new Error(`${name} loaded another copy of @tensorflow/tfjs-core than levanter's ${tf.version_core}`);
  }
}

function requireGpu(): void {
  const backend = tf.backend() as tf.KernelBackend & { readonly isUsingGpuDevice?: boolean };
  if (backend.isUsingGpuDevice !== true) throw new Error("it loaded but sees no GPU: it needs an NVIDIA GPU with the CUDA 11.2 and cuDNN 8.1 libraries");
}

/** The cpu backend prints an advertisement for tfjs-node at its first use in Node. */
function silenceGreeting(): void {
  (tf.backend() as tf.KernelBackend & { firstUse?: boolean }).firstUse = false;
}

function unavailable(engine: EagerName, cause: unknown): MarinError {
  const text = (cause instanceof Error ? cause.message : String(cause)).split("\n", 1)[0] ?? "";
  const code = (cause as { readonly code?: unknown } | undefined)?.code;
  const name = `@tensorflow/${engine}`;
  const absent = code === "MODULE_NOT_FOUND" && text.includes(`'${name}'`);
  const native = engine === "tfjs-node" || engine === "tfjs-node-gpu";
  const fix = native ? `Run: pnpm --filter @marin/levanter add --save-exact --allow-build=${name} ${name}@4.22.0 (Node 22 or older)` : "Run: pnpm install";
  const what = absent ? `${name} is not installed` : text;
  return new MarinError("LEVANTER_ENGINE_UNAVAILABLE", `engine "${engine}" cannot run here: ${what}. ${fix}`, {
    cause,
    data: { engine, reason: absent ? "absent" : "broken" },
  });
}
