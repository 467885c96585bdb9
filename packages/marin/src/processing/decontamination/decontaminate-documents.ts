import { mkdir } from "node:fs/promises";
import { basename, join } from "node:path";
import { MarinError } from "@marin/rigging";
import type { DocumentCounts } from "../dedup-shard.js";
import { fileBytes, listShards } from "../documents-file.js";
import { inWorkers } from "../in-workers.js";
import type { ProcessingOptions } from "../progress.js";
import { dropCommonNgrams, type CommonNgrams } from "./common-ngrams.js";
import { flaggedFolder, screenShardEntry, type ScreenTask } from "./decontaminate-shard.js";
import { writeEvaluationIndex } from "./evaluation-index.js";
import { readEvaluations } from "./read-evaluations.js";
import type { DecontaminationRule } from "./screen-text.js";
import { passageNgrams } from "./text-ngrams.js";

/** Options of {@link decontaminateDocuments}. */
export interface DecontaminateOptions extends ProcessingOptions {
  /** Folder of documents, as `collectDocuments` writes it. */
  readonly documents: string;
  /** Folder of the evaluations that a model will be measured by: files of rows or of text. */
  readonly evaluations: string;
  /** Folder in which the results are written; created where needed. */
  readonly outputDir: string;
  /** Fields of an evaluation's rows that hold text; each is a passage of its own. Default ["text"]. */
  readonly fields?: readonly string[] | undefined;
  /** Words of an n-gram, at least 1. Default 13. */
  readonly ngramWords?: number | undefined;
  /** Passages and paragraphs of fewer words than an n-gram are compared as a whole, from so many words on. Default 3. */
  readonly leastWords?: number | undefined;
  /** A document is contaminated when evaluations hold this share of the n-grams of one of its paragraphs, above 0 and at most 1. Default 0.5. */
  readonly minOverlap?: number | undefined;
  /** Or when it holds this share of an item's n-grams, wherever they stand, above 0 and at most 1; null: only the overlap decides. Default 0.5. */
  readonly minCoverage?: number | null | undefined;
  /**
   * An n-gram of evaluations that stands in more different texts of the documents than this counts for nothing, from 1 up: licences and set phrases give no item away. What many pages copy of an evaluation would count for nothing too, so
   * choose it above the number of copies that an item may have. null: all count. Default null.
   */
  readonly commonAbove?: number | null | undefined;
  /** Worker processes; the results do not depend on it. 0: as many as the amount of text is worth. Default 0. */
  readonly workers?: number | undefined;
}

/** What {@link decontaminateDocuments} kept and left out. */
export interface DecontaminatedDocuments extends DocumentCounts {
  /** Left out. */
  readonly contaminated: DocumentCounts;
  /** Kept, with n-grams of evaluations, but too few. */
  readonly touched: DocumentCounts;
  readonly evaluations: {
    /** Items read. */
    readonly items: number;
    /** Of them with too few words to be compared. */
    readonly tooShort: number;
    /** Different n-grams of all that count. */
    readonly ngrams: number;
    /** Those that count for nothing, where `commonAbove` is given. */
    readonly common?: CommonNgrams;
    /** Items that are in a contaminated document. */
    readonly leaked: number;
    /** Those in the most contaminated documents, at most 20: all are in `flagged`. */
    readonly mostLeaked: readonly { readonly id: string; readonly documents: number }[];
  };
}

const mostListed = 20;

/**
 * Leaves out the documents that give away the evaluations. Writes for each shard of the documents one of the same name with what is kept, one in `flagged/` with what was found
 * (`id`, `source`, `contaminated`, `overlap`, `coverage`, `paragraph`, `evaluations`, `ngrams`: a row for each document that has any n-gram of an evaluation), and in `evaluations/` the index:
 * `ngrams.parquet` tells which items hold a hash, and `common.parquet` which were left out as common. Equal documents and evaluations give equal files, whatever the number of workers.
 *
 * @throws MarinError MARIN_DECONTAMINATION_OPTION, MARIN_NO_EVALUATIONS, MARIN_EVALUATION_RECORD, and what reading the documents throws
 */
export async function decontaminateDocuments(options: DecontaminateOptions): Promise<DecontaminatedDocuments> {
  const { documents, evaluations, outputDir, fields = ["text"], commonAbove = null, workers, signal, onProgress } = options;
  const rule = checkedRule(options);
  const paths = await listShards(documents);
  const index = join(outputDir, "evaluations");
  await mkdir(index, { recursive: true });
  await mkdir(join(outputDir, flaggedFolder), { recursive: true });

  const items = new Map<string, Set<bigint>>();
  for await (const { name, passages } of readEvaluations({ folder: evaluations, fields }, signal)) {
    signal?.throwIfAborted();
    const ngrams = items.get(name) ?? new Set<bigint>();
    for (const passage of passages) for (const ngram of passageNgrams(passage, rule)) ngrams.add(ngram);
    items.set(name, ngrams);
  }
  const tooShort = [...items.values()].filter(({ size }) => size === 0).length;
  if (tooShort === items.size) {
    throw new MarinError("MARIN_NO_EVALUATIONS", `The ${String(items.size)} items in ${evaluations} have no passage of at least ${String(rule.leastWords)} words, one of them with a letter: there is nothing to keep out of the corpus.`, { data: { folder: evaluations, items: items.size } });
  }
  // Packed text: three times as much to work on.
  const spread = { workers, bytes: 3 * (await fileBytes(paths)), signal };
  let place = await writeEvaluationIndex(index, items);
  let common: CommonNgrams | undefined;
  if (commonAbove !== null) {
    common = await dropCommonNgrams(items, { ...spread, paths, index: place, rule, commonAbove });
    place = await writeEvaluationIndex(index, items);
  }

  const totals = { kept: none(), contaminated: none(), touched: none() };
  const leaks = new Map<string, number>();
  const tasks = paths.map((path): ScreenTask => ({ path, name: basename(path), outputDir, index: place.index, indexDigest: place.indexDigest, rule }));
  for await (const shard of inWorkers(screenShardEntry, tasks, { ...spread, name: "decontaminate" })) {
    for (const part of ["kept", "contaminated", "touched"] as const) add(totals[part], shard[part]);
    for (const [item, count] of Object.entries(shard.leaks)) leaks.set(item, (leaks.get(item) ?? 0) + count);
    onProgress?.({ done: totals.kept.documents + totals.contaminated.documents, unit: "documents" });
  }
  if (totals.kept.documents === 0) {
    throw new MarinError("MARIN_NO_DOCUMENTS", `All ${String(totals.contaminated.documents)} documents of ${documents} hold text of the evaluations in ${evaluations}: none is left.`, { data: { documents, evaluations } });
  }
  const mostLeaked = [...leaks].sort(([a, some], [b, others]) => others - some || (a < b ? -1 : 1)).slice(0, mostListed);
  return {
    ...totals.kept,
    contaminated: totals.contaminated,
    touched: totals.touched,
    evaluations: { items: items.size, tooShort, ngrams: place.ngrams, ...(common === undefined ? {} : { common }), leaked: leaks.size, mostLeaked: mostLeaked.map(([id, count]) => ({ id, documents: count })) },
  };
}

function checkedRule({ ngramWords = 13, leastWords = 3, minOverlap = 0.5, minCoverage = 0.5, commonAbove = null }: DecontaminateOptions): DecontaminationRule {
  const refuse = (name: string, wanted: string, found: unknown): never => {
    throw new MarinError("MARIN_DECONTAMINATION_OPTION", `${name} is ${wanted}, found ${String(found)}.`, { data: { option: name, found } });
  };
  for (const [name, words] of Object.entries({ ngramWords, leastWords, commonAbove: commonAbove ?? 1 })) if (!Number.isSafeInteger(words) || words < 1) refuse(name, "a whole number of at least 1", words);
  for (const [name, share] of Object.entries({ minOverlap, minCoverage: minCoverage ?? 1 })) if (!(share > 0 && share <= 1)) refuse(name, "above 0 and at most 1", share);
  return { ngramWords, leastWords, minOverlap, minCoverage };
}

function none(): DocumentCounts {
  return { documents: 0, bytes: 0 };
}

function add(sum: DocumentCounts, { documents, bytes }: DocumentCounts): void {
  sum.documents += documents;
  sum.bytes += bytes;
}
