import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { fingerprint, Store, type ArtifactInput } from "@marin/finestore";

import type { ReportArtifacts } from "../src/report/inputs.js";
import type { DuplicateExample } from "../src/report/report.js";
import type { Artifact } from "../src/step.js";

/** What a test of the report may want to be different. */
export interface ReportTexts {
  readonly examples?: readonly DuplicateExample[];
  readonly prompt?: string;
  readonly continuation?: string;
  /** Name of the second source of documents. */
  readonly source?: string;
  /** When the artifacts are made, in milliseconds since 1970, and on which machine. */
  readonly host?: string;
}

/** Writes a small store as an experiment of eight steps leaves it, and gives the artifacts that the report is made from. */
export async function writeReportArtifacts(directory: string, texts: ReportTexts = {}): Promise<Required<Omit<ReportArtifacts, string>> & ReportArtifacts> {
  const store = await Store.open(directory);
  const inputs = new Map<string, ArtifactInput>();
  const make = async <Result>(step: string, kind: string, config: object, from: readonly string[], result: Result, files: Readonly<Record<string, string>> = {}): Promise<Artifact<Result>> => {
    const made = Object.fromEntries(from.map((name) => [name, inputs.get(name) as ArtifactInput]));
    const identity = fingerprint({ name: kind, version: "1", config: { config }, inputs: Object.fromEntries(Object.entries(made).map(([role, input]) => [role, input.fingerprint])) });
    const provenance = { user: "ada", host: texts.host ?? "engine", commit: "9".repeat(40), dirty: false, arguments: ["first-lm", "--set", "train.steps=60"] };
    const artifact = await store.produce(kind, identity, { version: "1", config: { config }, inputs: made, runRecords: ["metrics.jsonl"], provenance }, async (to) => {
      for (const [name, content] of Object.entries({ "result.json": JSON.stringify(result), ...files })) await writeFile(join(to, name), content);
    });
    inputs.set(step, { name: kind, fingerprint: identity, digest: artifact.record.digest });
    return { step, fingerprint: identity, directory: artifact.directory, record: artifact.record, result };
  };
  await mkdir(directory, { recursive: true });
  const documents = await make("documents", "documents", { minDocumentBytes: 64 }, [], {
    documents: 1498,
    bytes: 18_512_340,
    sources: {
      speeches: { files: 233, read: 812, documents: 801, bytes: 10_960_293, tooShort: 11, tooShortBytes: 402 },
      [texts.source ?? "folder"]: { files: 41, read: 700, documents: 697, bytes: 7_552_047, tooShort: 3, tooShortBytes: 61 },
    },
  });
  const dedup = await make(
    "dedup",
    "dedup",
    { threshold: 0.7 },
    ["documents"],
    {
      kept: { documents: 1429, bytes: 17_948_908 },
      train: { documents: 1368, bytes: 17_148_840 },
      validation: { documents: 61, bytes: 800_068 },
      removed: { exact: { documents: 21, bytes: 203_110 }, near: { documents: 48, bytes: 360_322 } },
      clusters: 31,
      candidates: 322,
      verified: 57,
    },
    { "examples.json": JSON.stringify(texts.examples ?? [example]) },
  );
  const tokenizer = await make("tokenizer", "tokenizer", { vocabSize: 4096 }, ["dedup"], { vocabSize: 4096, merges: 3839 });
  const tokens = await make("tokens", "tokens", {}, ["dedup", "tokenizer"], {
    train: { documents: 1368, tokens: 4_402_689, bytes: 17_148_840 },
    validation: { documents: 61, tokens: 203_446, bytes: 800_068 },
  });
  const rows = Array.from({ length: 60 }, (_, index) => ({ step: index + 1, loss: 4.4 + 4 * Math.exp(-index / 12) + 0.05 * Math.sin(index), learningRate: 1e-3 * Math.min(1, index / 6), gradientNorm: 1 + 3 / (index + 1) }));
  const train = await make(
    "train",
    "train",
    { steps: 60, learningRate: 1e-3 },
    ["tokens"],
    { model: { layers: 4, hiddenSize: 256, heads: 4, sequenceLength: 128, vocabSize: 4096 }, checkpoint: "checkpoints/step-00000060", parameters: 4_240_896, steps: 60, loss: 4.417 },
    {
      "curve.jsonl": rows.map((row) => `${JSON.stringify(row)}\n`).join(""),
      "metrics.jsonl": rows.map((row) => `${JSON.stringify({ ...row, tokensPerSecond: 4800 + 100 * Math.cos(row.step) })}\n`).join(""),
    },
  );
  const baselines = await make("baselines", "baselines", {}, ["dedup", "tokens"], {
    baselines: [
      { name: "token unigram", bits: 1_984_932.6, bytes: 800_068, bitsPerByte: 2.480954863559562 },
      { name: "byte 3-gram", bits: 2_238_560.1, bytes: 800_068, bitsPerByte: 2.797962302642128 },
      { name: "byte 5-gram", bits: 1_496_078.9, bytes: 800_068, bitsPerByte: 1.8699396763284033 },
    ],
  });
  const evaluate = await make("evaluate", "evaluate", {}, ["train", "tokens", "baselines"], { validationLoss: 4.628634729566599, bitsPerByte: 1.698031760959953, tokens: 203_446, bytes: 800_068, baselines: {} });
  const sample = await make("sample", "sample", { seed: 0 }, ["train", "tokenizer"], {
    prompt: texts.prompt ?? "The people of",
    continuation: texts.continuation ?? " the United States are the people of the world, and the will of them is\nthe law of the land.",
    tokens: 24,
  });
  return { documents, dedup, tokenizer, tokens, train, baselines, evaluate, sample };
}

const opening = "Fellow-Citizens of the Senate and of the House of Representatives: I congratulate you upon the favorable prospects of our public affairs";

const example: DuplicateExample = {
  reason: "near",
  similarity: 0.936,
  keptId: "a".repeat(64),
  keptSource: "speeches/1822#1",
  keptText: `${opening}, and on the plenty of the harvest in every part of the Union.`,
  removedId: "b".repeat(64),
  removedSource: "folder/1822.txt",
  removedText: `${opening}, and on the plenty of this harvest in all parts of the Union.`,
};
