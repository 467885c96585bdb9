import { Fixture } from "../../test/reference/fixtures.js";
import type { ParityIndex, TrainingIndex } from "../../test/reference/gpt2-runs.js";
import { describeParity } from "../../test/reference/parity.js";
import { llama } from "./llama.js";

interface LlamaIndex extends ParityIndex {
  readonly shape: TrainingIndex["shape"] & { readonly intermediate: number; readonly keyValueHeads: number; readonly tied: boolean };
  readonly rope: {
    readonly scaling: "default" | "linear" | "llama3";
    readonly theta: number;
    readonly factor: number;
    readonly lowFrequencyFactor: number;
    readonly highFrequencyFactor: number;
    readonly originalLength: number;
  };
}

const fixture = Fixture.open<{ cases: LlamaIndex[] }>("llama");

for (const index of fixture.index.cases) {
  const { shape, rope } = index;
  const model = llama({
    vocabSize: shape.vocabulary, sequenceLength: shape.length, hiddenSize: shape.width, intermediateSize: shape.intermediate, layers: shape.layers,
    heads: shape.heads, keyValueHeads: shape.keyValueHeads, tiedHead: shape.tied,
    ropeScaling: rope.scaling, ropeTheta: rope.theta, ropeFactor: rope.factor, ropeLowFrequencyFactor: rope.lowFrequencyFactor,
    ropeHighFrequencyFactor: rope.highFrequencyFactor, ropeOriginalLength: rope.originalLength,
  });
  const name = `Llama with ${String(shape.keyValueHeads)} of 4 heads of keys and values, ${rope.scaling} positions, ${shape.tied ? "a tied" : "its own"} head,`;
  describeParity({ name, model, index, fixture });
}
