import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { findDuplicates, presets, type RemovedDocument } from "@marin/dupekit";
import { MarinError, writeFileAtomic } from "@marin/rigging";
import { writeParquet } from "@marin/zephyr";
import { divideShardEntry, sketchShardEntry, type DividedShard, type DivideTask, type DocumentCounts, type PresetName, type ShardSketch } from "./dedup-shard.js";
import { fileBytes, listShards } from "./documents-file.js";
import { inWorkers } from "./in-workers.js";
import type { ProcessingOptions } from "./progress.js";
import { checkSplitRule, type Split, type SplitRule } from "./split-rule.js";

/** Options of {@link dedupDocuments}. */
export interface DedupOptions extends ProcessingOptions {
  /** Folder of documents, as `collectDocuments` writes it. */
  readonly documents: string;
  /** Folder in which the results are written; created where needed. */
  readonly outputDir: string;
  /** Least Jaccard similarity of the three-word shingles of near duplicates. Default 0.35. */
  readonly minSimilarity?: number | undefined;
  /** Text that more documents than this share can be boilerplate. Default 8. */
  readonly commonAbove?: number | undefined;
  /**
   * How candidates are found: by the signatures of one of dupekit's presets, where a token is a word. Default: by rare shingles, which finds copies of one word in ten changed, also where most of
   * the text is boilerplate.
   */
  readonly preset?: PresetName | undefined;
  /** Whether candidates are compared by their words. False: what the preset's bands say, accidents and templates included. Default true. */
  readonly verify?: boolean | undefined;
  /** Which one of several duplicates stays: the one most like the others, the longest, or the one whose source comes first, by the file's name and then the row. Default "central". */
  readonly keep?: "central" | "longest" | "first" | undefined;
  /** What is removed together: documents that were found to be duplicates of the one that stays, or also duplicates of duplicates. Default "direct". */
  readonly link?: "direct" | "transitive" | undefined;
  /** Share of the kept documents that are for validation, above 0 and below 1. Default 0.05. */
  readonly validationFraction?: number | undefined;
  /** Any text; another one gives another split of the same documents. Default "". */
  readonly salt?: string | undefined;
  /** Worker processes; the results do not depend on it. 0: as many as the amount of text is worth. Default 0. */
  readonly workers?: number | undefined;
}

/** What {@link dedupDocuments} kept and removed. */
export interface DedupedDocuments {
  readonly kept: DocumentCounts;
  readonly train: DocumentCounts;
  readonly validation: DocumentCounts;
  readonly removed: { readonly exact: DocumentCounts; readonly near: DocumentCounts };
  /** Kept documents for which at least one other was removed. */
  readonly clusters: number;
  /** Pairs of different texts that were compared. */
  readonly candidates: number;
  /** Those of them that were found to be near duplicates. */
  readonly verified: number;
}

/** Pairs in `examples.json`. */
const examplePairs = 20;

/**
 * Removes exact and near duplicates, and divides what is kept by the hash of the documents' ids: after duplicates are gone, so that no copy of a
 * training document is validated on.
 *
 * Writes `train/` and `validation/` (shards as `collectDocuments` writes them), `removed.parquet` (`id`, `source`, `reason`, `keptId`, `keptSource`, `similarity`) and
 * `examples.json` (pairs with the beginnings of both texts). Equal documents give equal files, whatever the number of workers.
 *
 * @throws MarinError MARIN_SPLIT_FRACTION, MARIN_DEDUP_OPTION, MARIN_EMPTY_SPLIT when a part gets no document, and what reading the documents throws
 */
export async function dedupDocuments(options: DedupOptions): Promise<DedupedDocuments> {
  const { documents, outputDir, workers, signal, onProgress } = options;
  const rule: SplitRule = { validationFraction: options.validationFraction ?? 0.05, salt: options.salt ?? "" };
  checkSplitRule(rule);
  const { preset, verify = true, keep = "central", link = "direct" } = options;
  if (!verify && preset === undefined) throw needsPreset();
  if (preset !== undefined && !Object.hasOwn(presets, preset)) {
    throw new MarinError("MARIN_DEDUP_OPTION", `preset is one of ${Object.keys(presets).join(", ")}, found ${JSON.stringify(preset)}.`, { data: { option: "preset" } });
  }
  const paths = await listShards(documents);
  const bytes = await fileBytes(paths);
  // Packed text: three times as much to work on.
  const spread = { workers, bytes: bytes * 3, signal };

  const shards: ShardSketch[][] = [];
  for await (const sketches of inWorkers(sketchShardEntry, paths.map((path) => ({ path, preset })), { ...spread, name: "sketches" })) {
    shards.push(sketches);
    onProgress?.({ done: shards.reduce((sum, { length }) => sum + length, 0), unit: "documents" });
  }
  const all = shards.flatMap((sketches, shard) => sketches.map((sketch, place) => ({ ...sketch, shard, place })));
  // Documents lie in the order of their ids, which says nothing of which came first.
  if (keep === "first") all.sort((a, b) => compareSources(a.source, b.source));
  signal?.throwIfAborted();
  const found = findDuplicates(
    all.map(({ id, source, length, shingles, signature }) => ({ id: `${id} ${source}`, sketch: { hash: id, length, shingles, ...(signature === undefined ? {} : { signature }) } })),
    { minSimilarity: options.minSimilarity ?? 0.35, commonAbove: options.commonAbove ?? 8, preset: preset === undefined ? undefined : presets[preset], verify, keep, link },
  );
  signal?.throwIfAborted();

  const examples = chooseExamples(found.removed);
  const shown = examples.flatMap(({ index, duplicateOf }) => [all[index], all[duplicateOf]]);
  const tasks = paths.map((path, shard): DivideTask => {
    const placesOf = (chosen: readonly ((typeof all)[number] | undefined)[]): number[] => chosen.flatMap((document) => (document?.shard === shard ? [document.place] : []));
    return { path, shard, shards: paths.length, removed: placesOf(found.removed.map(({ index }) => all[index])), shown: placesOf(shown), rule, outputDir };
  });
  for (const part of ["train", "validation"]) await mkdir(join(outputDir, part), { recursive: true });
  const divided: DividedShard[] = [];
  for await (const shard of inWorkers(divideShardEntry, tasks, { ...spread, name: "parts" })) divided.push(shard);
  const part = (name: Split): DocumentCounts => sum(divided.map((shard) => shard[name]));
  const [train, validation, kept] = [part("train"), part("validation"), sum(divided.flatMap((shard) => [shard.train, shard.validation]))];
  for (const [name, { documents: count }] of [["train", train], ["validation", validation]] as const) if (count === 0) throw emptySplit(documents, name, rule, kept.documents);

  const rows = found.removed.map(({ index, duplicateOf, reason, similarity }) => {
    const [own, other] = [all[index], all[duplicateOf]];
    return { id: own?.id ?? "", source: own?.source ?? "", reason, keptId: other?.id ?? "", keptSource: other?.source ?? "", similarity };
  });
  await writeParquet(join(outputDir, "removed.parquet"), rows, {
    schema: { id: "string", source: "string", reason: "string", keptId: "string", keptSource: "string", similarity: "float64" },
  });
  const pairs = examples.map(({ index, duplicateOf, reason, similarity }) => {
    const [own, other] = [all[index], all[duplicateOf]];
    const beginning = (document: typeof own): string => divided[document?.shard ?? 0]?.beginnings[document?.place ?? 0] ?? "";
    return {
      reason,
      similarity,
      keptId: other?.id,
      keptSource: other?.source,
      keptText: beginning(other),
      removedId: own?.id,
      removedSource: own?.source,
      removedText: beginning(own),
    };
  });
  await writeFileAtomic(join(outputDir, "examples.json"), `${JSON.stringify(pairs, null, 1)}\n`);
  const removed = (reason: RemovedDocument["reason"]): DocumentCounts =>
    sum(found.removed.filter((document) => document.reason === reason).map(({ index }) => ({ documents: 1, bytes: all[index]?.bytes ?? 0 })));
  return { kept, train, validation, removed: { exact: removed("exact"), near: removed("near") }, clusters: found.clusters, candidates: found.candidates, verified: found.verified };
}

/** Pairs from the least to the most similar, so that the first few show where the line is drawn; exact ones last. */
function chooseExamples(removed: readonly RemovedDocument[]): RemovedDocument[] {
  const near = removed.filter(({ reason }) => reason === "near").sort((a, b) => a.similarity - b.similarity || a.index - b.index);
  const exact = removed.filter(({ reason }) => reason === "exact");
  const places = Math.min(near.length, examplePairs - Math.min(exact.length, 2));
  const spread = Array.from({ length: places }, (_, place) => near[Math.floor((place * near.length) / places)]);
  return [...spread, ...exact.slice(0, 2)].filter((pair) => pair !== undefined);
}

/** By the file's name, then the row in it, then the part of the row. */
function compareSources(a: string, b: string): number {
  const [[fileA, ...numbersA], [fileB, ...numbersB]] = [placeOf(a), placeOf(b)];
  if (fileA !== fileB) return fileA < fileB ? -1 : 1;
  return (numbersA[0] ?? 0) - (numbersB[0] ?? 0) || (numbersA[1] ?? 0) - (numbersB[1] ?? 0);
}

/** "a.jsonl:12#3": file, row and part. */
function placeOf(source: string): [string, ...number[]] {
  const [, file = source, row = "0", part = "0"] = /^(.*?)(?::(\d+))?(?:#(\d+))?$/s.exec(source) ?? [];
  return [file, Number(row), Number(part)];
}

/** What `verify: false` lacks without a preset. */
export function needsPreset(): MarinError {
  return new MarinError("MARIN_DEDUP_OPTION", `Without verification a preset says which documents are alike: name one (${Object.keys(presets).join(", ")}), or leave dedup.verify at true.`, { data: { option: "verify" } });
}

function sum(counts: readonly DocumentCounts[]): DocumentCounts {
  return counts.reduce((total, { documents, bytes }) => ({ documents: total.documents + documents, bytes: total.bytes + bytes }), { documents: 0, bytes: 0 });
}

function emptySplit(documents: string, split: Split, rule: SplitRule, total: number): MarinError {
  const remedy =
    split === "validation"
      ? "raise dedup.validationFraction, or lower documents.maxDocumentBytes so that texts are cut into more documents"
      : "lower dedup.validationFraction";
  return new MarinError(
    "MARIN_EMPTY_SPLIT",
    `None of the ${String(total)} documents kept of ${documents} falls into the ${split} split with validationFraction ${String(rule.validationFraction)}: add documents, ${remedy}.`,
    { data: { split, documents: total, ...rule } },
  );
}
