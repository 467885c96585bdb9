import { vi } from "vitest";
import { describeConformance } from "../../test/conformance/suite.js";
import { OnnxEngine } from "./compiled-engine.js";

describeConformance("onnx, more calls, two threads", () => OnnxEngine.create({ threads: 2 }), { runs: 4, calls: 6, seed: 20261201 });

async function throughNode(): Promise<OnnxEngine> {
  vi.stubEnv("MARIN_ENGINE_RUNTIME", "node");
  try {
    return await OnnxEngine.create({ threads: 1 });
  } finally {
    vi.unstubAllEnvs();
  }
}

describeConformance("onnx through onnxruntime-node's own run()", throughNode, { runs: 1, calls: 4, seed: 20261202 });
