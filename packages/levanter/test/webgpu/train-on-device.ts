// Ten steps of the reference model on the CPU and on WebGPU, in a process of its own, since the Vulkan loader looks at its environment once:
// node --conditions=@marin/source --import tsx train-on-device.ts
// Prints a TrainingReport as JSON.
import { OnnxEngine } from "../../src/engine/compiled-engine.js";
import { DeviceEngine } from "../../src/engine/device/device-engine.js";
import type { Transfers } from "../../src/engine/device/device-context.js";
import { liveHandles } from "../../src/engine/runtime/ort-handles.js";
import { elementCount } from "../../src/engine/shape.js";
import { TrainingState } from "../../src/training-state.js";
import { initialParameters, modelOf, randomBatch, train, trainingShape, type ParityIndex } from "../reference/gpt2-runs.js";
import { readIndex } from "../reference/fixtures.js";
import type { Engine } from "../../src/engine/types.js";

/** What one engine's ten steps gave. */
interface EngineReport {
  readonly description: string;
  readonly fingerprint: string;
  readonly losses: readonly number[];
  readonly gradientNorms: readonly number[];
  readonly parameters: Readonly<Record<string, readonly number[]>>;
}

/** What {@link EngineReport} holds, and how the device was used on the way. */
export interface TrainingReport {
  readonly cpu: EngineReport;
  readonly device: EngineReport;
  readonly leftToCpu: readonly string[];
  /** What went between host and device, before the first step and after each. */
  readonly transfers: readonly Transfers[];
  /** Native tensors, at the same moments. */
  readonly tensors: readonly number[];
  /** Native objects at the end, when the engine was disposed. */
  readonly handlesLeft: Readonly<Record<string, number>>;
  /** Bytes of the model's parameters. */
  readonly parameterBytes: number;
  /** Bytes of one batch, and of the scalars that one step computes on the host. */
  readonly batchBytes: number;
}

const STEPS = 10;
const index = readIndex<ParityIndex>("gpt2");
const model = modelOf(index);

async function run(engine: Engine, onStep: () => void): Promise<EngineReport> {
  const state = await TrainingState.create(engine, model, trainingShape(index));
  state.setParameters(initialParameters(index));
  const history = await train(state, index, STEPS, (step) => {
    onStep();
    return randomBatch(index, step);
  });
  onStep();
  const parameters: Record<string, number[]> = {};
  for (const [name, buffer] of Object.entries(state.parameters)) parameters[name] = Array.from(await buffer.read());
  const { description, fingerprint } = engine;
  state.release();
  await engine.dispose();
  return { description, fingerprint, losses: history.map(({ loss }) => loss), gradientNorms: history.map(({ gradientNorm }) => gradientNorm), parameters };
}

const cpu = await run(await OnnxEngine.create({ threads: 1 }), () => undefined);
const engine = await DeviceEngine.create({ device: "webgpu", threads: 1 });
const transfers: Transfers[] = [];
const tensors: number[] = [];
const device = await run(engine, () => {
  transfers.push(engine.transfers);
  tensors.push(liveHandles().value);
});
const batch = randomBatch(index, 0);
const report: TrainingReport = {
  cpu,
  device,
  leftToCpu: engine.leftToCpu,
  transfers,
  tensors,
  handlesLeft: liveHandles(),
  parameterBytes: 4 * Object.values(model.parameters).reduce((sum, { shape }) => sum + elementCount(shape), 0),
  batchBytes: batch.tokens.byteLength + batch.targets.byteLength + batch.weights.byteLength,
};
console.log(JSON.stringify(report));
