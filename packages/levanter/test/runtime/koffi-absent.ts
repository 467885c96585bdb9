/** Looks for the runtime where koffi's native part cannot be loaded, and prints as JSON which way is then taken and what is said, and what a device says. */
import { isMarinError } from "@marin/iris";
import { loadRuntime } from "../../src/engine/runtime/load-runtime.js";
import { selectEngine } from "../../src/engine/select.js";

const { dlopen } = process;
process.dlopen = (...parameters: Parameters<typeof dlopen>) => {
  if (parameters[1].includes("koffi")) throw new Error(`${parameters[1]}: cannot open shared object file`);
  // An absent last parameter must stay absent.
  Reflect.apply(dlopen, process, parameters);
};
const notices: string[] = [];
const runtime = await loadRuntime((line) => notices.push(line));
const device = await selectEngine({ device: "webgpu" }).catch((error: unknown) => error);
process.stdout.write(JSON.stringify({ kind: runtime.kind, notices, device: isMarinError(device) ? { code: device.code, message: device.message } : undefined }));
