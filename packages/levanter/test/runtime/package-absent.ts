/** Looks for the runtime where onnxruntime-node is not installed, and prints the error as JSON. */
import Module from "node:module";
import { loadRuntime } from "../../src/engine/runtime/load-runtime.js";

const resolver = Module as unknown as { _resolveFilename: (request: string, ...rest: unknown[]) => string };
const resolveFilename = resolver._resolveFilename;
resolver._resolveFilename = (request, ...rest) => {
  if (request.startsWith("onnxruntime-node")) throw Object.assign(new Error(`Cannot find module '${request}'`), { code: "MODULE_NOT_FOUND" });
  return resolveFilename(request, ...rest);
};
const error = await loadRuntime(() => {}).then(
  () => undefined,
  (reason: unknown) => reason as { code: string; message: string },
);
process.stdout.write(JSON.stringify({ code: error?.code, message: error?.message }));
