import { h } from "preact";

import { lineChart } from "./charts.js";
import { count, shortCount } from "./format.js";
import { exactCount, facts, measure, section, type Markup } from "./markup.js";
import type { EvaluationFacts, TrainingFacts } from "./report.js";
import type { ThroughputPoint } from "./run-facts.js";

/** Names of a model's numbers as people read them; others are shown as they are. */
const shapeNames: Readonly<Record<string, string>> = {
  layers: "Layers",
  hiddenSize: "Width",
  heads: "Attention heads",
  sequenceLength: "Tokens seen at once",
  vocabSize: "Vocabulary",
};

/** What training did: shape of the model, loss, and the speed of this run. */
export function trainingSection(training: TrainingFacts, evaluation: EvaluationFacts | undefined, throughput: readonly ThroughputPoint[]): Markup {
  return section(
    "training",
    "Training",
    facts([
      ["Parameters", exactCount(training.parameters)],
      ...Object.entries(training.model).map(([name, value]): [string, Markup] => [shapeNames[name] ?? name, exactCount(value)]),
      ["Steps", exactCount(training.steps)],
      ["Last loss", [measure(training.loss, 4), " nats per token"]],
    ]),
    curves(training, evaluation),
    speed(throughput),
  );
}

function curves({ curve, pointsPerMean }: TrainingFacts, evaluation: EvaluationFacts | undefined): Markup {
  const [first, last] = [curve[0], curve.at(-1)];
  if (first === undefined || last === undefined) return null;
  const validation = evaluation === undefined ? [] : [{ value: evaluation.validationLoss, name: `validation ${evaluation.validationLoss.toFixed(3)}` }];
  // Single batches differ a lot: of a longer curve the eye wants the mean.
  const smoothing = curve.length < 100 ? 1 : 2 * Math.round(curve.length / 60) + 1;
  const over = `from step ${count(first.step)} to step ${count(last.step)}`;
  return [
    lineChart({
      title: smoothing === 1 ? "Training loss" : `Training loss; the strong line is the mean of ${count(smoothing)} points`,
      description: `Line chart: the loss goes from ${first.loss.toFixed(3)} to ${last.loss.toFixed(3)} nats per token, ${over}.`,
      label: "nats per token",
      points: curve.map(({ step, loss }) => ({ step, value: loss })),
      references: validation,
      smoothing,
      height: 320,
    }),
    pointsPerMean === 1 ? null : h("p", { class: "note" }, `Each point is the mean of ${count(pointsPerMean)} recorded ones.`),
    h(
      "div",
      { class: "pairwise" },
      lineChart({
        title: "Learning rate",
        description: `Line chart: the learning rate, at most ${String(Math.max(...curve.map(({ learningRate }) => learningRate)))}, ${over}.`,
        label: "× 0.001",
        points: curve.map(({ step, learningRate }) => ({ step, value: learningRate * 1000 })),
        height: 220,
        small: true,
        scale: "zero",
      }),
      lineChart({
        title: "Gradient norm, before clipping",
        description: `Line chart: the norm of the gradient goes from ${first.gradientNorm.toFixed(3)} to ${last.gradientNorm.toFixed(3)}, ${over}.`,
        label: "norm",
        points: curve.map(({ step, gradientNorm }) => ({ step, value: gradientNorm })),
        height: 220,
        small: true,
        // Single batches have norms far above the others.
        scale: Math.min(...curve.map(({ gradientNorm }) => gradientNorm)) > 0 ? "log" : "zero",
      }),
    ),
  ];
}

function speed(throughput: readonly ThroughputPoint[]): Markup {
  const speeds = throughput.map(({ tokensPerSecond }) => tokensPerSecond).sort((a, b) => a - b);
  const [slowest, median, fastest] = [speeds[0], speeds[Math.floor(speeds.length / 2)], speeds.at(-1)];
  if (slowest === undefined || median === undefined || fastest === undefined) return null;
  return lineChart({
    title: `Throughput of this run: ${shortCount(median)} tokens per second, half of the time more`,
    description: `Line chart: between ${count(slowest)} and ${count(fastest)} tokens per second.`,
    label: "tokens per second",
    points: throughput.map(({ step, tokensPerSecond }) => ({ step, value: tokensPerSecond })),
    height: 220,
    scale: "zero",
  });
}
