import { formatExplanation, selectEngine, TrainingState } from "@marin/levanter";
import { BENCH_MODELS, modelOf, type BenchModel, type BenchModelName } from "./models.js";
import { timed } from "./peers/timed-engine.js";

/** Compiles a model's training step and says where the time of its gradient program goes. The initial weights are zeros, which cost the same. */
export async function benchExplain({ model, threads, top }: { readonly model: BenchModelName; readonly threads: number; readonly top: number }): Promise<string> {
  const { shape }: BenchModel = BENCH_MODELS[model];
  const { engine, program } = timed(await selectEngine({ engine: "onnx", device: "cpu", threads }));
  try {
    await TrainingState.create(engine, modelOf(shape), { batchSize: shape.batch, microbatchSize: shape.batch, sequenceLength: shape.length });
    return formatExplanation(await program("gradients").explain({ profile: true }), { top });
  } finally {
    await engine.dispose();
  }
}
