import { OnnxEngine } from "../../src/engine/compiled-engine.js";
import { EagerEngine } from "../../src/engine/eager-engine.js";
import type { Engine } from "../../src/engine/types.js";

/** Makes each engine that is compared with the reference values. */
export const ENGINES: Readonly<Record<string, () => Promise<Engine>>> = {
  onnx: () => OnnxEngine.create({ threads: 1 }),
  cpu: () => EagerEngine.create("cpu"),
};
