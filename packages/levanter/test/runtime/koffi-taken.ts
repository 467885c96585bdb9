/** Uses koffi for something else before the engine does, and prints as JSON which way to the runtime is then taken and what is said. */
import koffi from "koffi";
import { loadRuntime } from "../../src/engine/runtime/load-runtime.js";
import { installedLibrary } from "../../src/engine/runtime/native-library.js";

koffi.load(installedLibrary());
const notices: string[] = [];
const runtime = await loadRuntime((line) => notices.push(line));
process.stdout.write(JSON.stringify({ kind: runtime.kind, notices }));
