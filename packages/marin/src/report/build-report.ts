import { readLossCurve } from "../steps/loss-curve.js";
import { readExamples } from "./examples.js";
import { makeFunnel } from "./funnel.js";
import type { ReportArtifacts } from "./inputs.js";
import type { NamedLineageEntry } from "./lineage.js";
import type { LineageFact, Report, TrainingFacts } from "./report.js";
import { thinCurve } from "./thin-curve.js";

/** Most points of a curve: more cannot be told apart on a page. */
const MAX_POINTS = 1000;

/** What the report's settings are. */
export interface ReportSettings {
  readonly title: string;
  /** Most examples of removed documents. */
  readonly examples: number;
}

/** Gathers the facts of a report from artifacts. */
export async function buildReport(artifacts: ReportArtifacts, lineage: readonly NamedLineageEntry[], { title, examples }: ReportSettings): Promise<Report> {
  const { decontaminate, dedup, tokenizer, train, evaluate, baselines, sample } = artifacts;
  return {
    formatVersion: 1,
    title,
    funnel: makeFunnel(artifacts),
    contamination: decontaminate?.result && { ...pick(decontaminate.result, ["contaminated", "touched"]), ...pick(decontaminate.result.evaluations, ["items", "leaked", "common", "mostLeaked"]) },
    duplicates: dedup?.result && {
      clusters: dedup.result.clusters,
      candidates: dedup.result.candidates,
      verified: dedup.result.verified,
      examples: await readExamples(dedup.directory, examples),
    },
    tokenizer: tokenizer?.result && { vocabSize: tokenizer.result.vocabSize, merges: tokenizer.result.merges },
    training: train && (await trainingFacts(train)),
    evaluation: evaluate?.result && pick(evaluate.result, ["validationLoss", "bitsPerByte", "tokens", "bytes"]),
    baselines: (baselines?.result?.baselines ?? []).map((baseline) => pick(baseline, ["name", "bitsPerByte"])),
    samples: sample?.result === undefined ? [] : [pick(sample.result, ["prompt", "continuation", "tokens"])],
    lineage: lineage.map(lineageFact),
  };
}

async function trainingFacts({ result, directory }: NonNullable<ReportArtifacts["train"]>): Promise<TrainingFacts | undefined> {
  if (result === undefined) return undefined;
  const curve = await readLossCurve(directory);
  const { points, pointsPerMean } = thinCurve(curve, MAX_POINTS);
  const numbers = Object.entries(result.model).filter((entry): entry is [string, number] => typeof entry[1] === "number");
  return { ...pick(result, ["parameters", "steps", "loss"]), model: Object.fromEntries(numbers), curve: points, pointsPerMean };
}

function lineageFact({ step, name, fingerprint, digest, state, inputs, artifact }: NamedLineageEntry): LineageFact {
  const files = artifact?.record.files ?? [];
  return {
    step,
    kind: name,
    version: artifact?.record.version ?? "",
    fingerprint,
    digest,
    state,
    inputs: Object.fromEntries(Object.entries(inputs).map(([role, input]) => [role, input.fingerprint])),
    ...deciding(artifact?.record.config ?? null),
    files: { count: files.length, bytes: files.reduce((total, { bytes }) => total + bytes, 0) },
  };
}

/** The executor records a step's options under `config`, beside what else identifies it. */
function deciding(recorded: unknown): Pick<LineageFact, "config" | "identity"> {
  const both = recorded as { readonly config?: unknown; readonly identity?: unknown } | null;
  return both?.config === undefined ? { config: recorded, identity: undefined } : { config: both.config, identity: both.identity };
}

function pick<Value extends object, Key extends keyof Value>(value: Value, keys: readonly Key[]): Pick<Value, Key> {
  return Object.fromEntries(keys.map((key) => [key, value[key]])) as Pick<Value, Key>;
}
