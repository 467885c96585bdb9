import { MarinError, isMarinError } from "@marin/iris";
import type { Runtime } from "./runtime.js";

/** Environment variable that forces the way to ONNX Runtime: `koffi` or `node`. Meant for tests and for narrowing down a fault. */
export const runtimeVariable = "MARIN_ENGINE_RUNTIME";

/**
 * The best way to ONNX Runtime that works here: its C API through koffi, else `onnxruntime-node`'s own `run()`.
 *
 * @param onNotice - receives one line when the slower way is taken, saying why
 * @param forced - takes this way or none; default: the environment variable `MARIN_ENGINE_RUNTIME`
 * @throws MarinError `LEVANTER_RUNTIME_UNAVAILABLE` when neither works, `LEVANTER_RUNTIME_VERSION` when another version is installed,
 * `LEVANTER_CONFIG` when `forced` names no way
 */
export async function loadRuntime(onNotice: (line: string) => void, forced: string | undefined = process.env[runtimeVariable]): Promise<Runtime> {
  if (forced !== undefined && forced !== "" && forced !== "koffi" && forced !== "node") {
    throw new MarinError("LEVANTER_CONFIG", `${runtimeVariable} is "${forced}"; it may be "koffi" or "node"`, { data: { found: forced } });
  }
  if (forced === "koffi") return loadKoffi();
  if (forced === "node") return loadNode();
  try {
    return await loadKoffi();
  } catch (error) {
    if (isMarinError(error, "LEVANTER_RUNTIME_VERSION")) throw error;
    const runtime = await loadNode(error);
    onNotice(`ONNX Runtime runs through onnxruntime-node's run(), which copies tensors at each call: ${reason(error)}${cure(error)}`);
    return runtime;
  }
}

async function loadKoffi(): Promise<Runtime> {
  try {
    const { koffiRuntime } = await import("./koffi-session.js");
    return koffiRuntime();
  } catch (cause) {
    if (isMarinError(cause)) throw cause;
    throw new MarinError("LEVANTER_RUNTIME_UNAVAILABLE", `koffi could not be loaded: ${reason(cause)}`, { cause, data: { repair: "pnpm install --force" } });
  }
}

async function loadNode(before?: unknown): Promise<Runtime> {
  try {
    const { nodeRuntime } = await import("./node-session.js");
    return nodeRuntime();
  } catch (cause) {
    if (isMarinError(cause)) throw cause;
    // Without that package neither way works, and the first error says what to do.
    if (isMarinError(before) && before.data["package"] === "onnxruntime-node") throw before;
    const first = before === undefined ? "" : `${reason(before)}; `;
    throw new MarinError("LEVANTER_RUNTIME_UNAVAILABLE", `${first}onnxruntime-node could not be loaded: ${reason(cause)}. Reinstall both: pnpm install --force`, { cause });
  }
}

/** What repairs the failure, where a command does. */
function cure(error: unknown): string {
  const repair = isMarinError(error) ? error.data["repair"] : undefined;
  return typeof repair === "string" ? `. Reinstall it: ${repair}` : "";
}

function reason(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split("\n", 1)[0] ?? text;
}
