/** Looks for the runtime where koffi's native part cannot be loaded, and prints as JSON which way is then taken and what is said. */
import { loadRuntime } from "../../src/engine/runtime/load-runtime.js";

const { dlopen } = process;
process.dlopen = (...parameters: Parameters<typeof dlopen>) => {
  if (parameters[1].includes("koffi")) throw new Error(`${parameters[1]}: cannot open shared object file`);
  // An absent last parameter must stay absent.
  Reflect.apply(dlopen, process, parameters);
};
const notices: string[] = [];
const runtime = await loadRuntime((line) => notices.push(line));
process.stdout.write(JSON.stringify({ kind: runtime.kind, notices }));
