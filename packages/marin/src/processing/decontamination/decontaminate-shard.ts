import { join } from "node:path";
import { entry, getIrisCtx } from "@marin/iris";
import { ParquetWriter, type ParquetSchema } from "@marin/zephyr";
import type { DocumentCounts } from "../dedup-shard.js";
import { readShard, shardWriter } from "../documents-file.js";
import { type IndexPlace, openIndex } from "./evaluation-index.js";
import { type DecontaminationRule, screenText } from "./screen-text.js";

/** A shard to screen. */
export interface ScreenTask extends IndexPlace {
  readonly path: string;
  /** Name of the files that are written. */
  readonly name: string;
  /** Folder of the documents that are kept; those found go into `flagged` in it. */
  readonly outputDir: string;
  readonly rule: DecontaminationRule;
}

/** What a shard held. */
export interface ScreenedShard {
  readonly kept: DocumentCounts;
  readonly contaminated: DocumentCounts;
  /** Kept although they have something in common with evaluations. */
  readonly touched: DocumentCounts;
  /** Contaminated documents of each item that is in one, by its name. */
  readonly leaks: Readonly<Record<string, number>>;
}

/** Folder of the files of {@link flaggedSchema} beside the documents. */
export const flaggedFolder = "flagged";

/** A document with n-grams of evaluations. */
const flaggedSchema: ParquetSchema = {
  id: "string",
  source: "string",
  contaminated: "boolean",
  overlap: "float64",
  coverage: "float64",
  paragraph: "string",
  evaluations: { list: { struct: { id: "string", coverage: "float64" } } },
  ngrams: { list: "uint64" },
};

/** Characters of a paragraph that are kept for people. */
const shownCharacters = 400;

/** Writes the documents of a shard that are not contaminated, and what was found in all of them, to files of the shard's name. */
export async function screenShard(task: ScreenTask): Promise<ScreenedShard> {
  const { path, name, outputDir, rule } = task;
  const signal = getIrisCtx()?.signal;
  const index = await openIndex(task);
  const counts = { kept: none(), contaminated: none(), touched: none() };
  const leaks = new Map<string, number>();
  const documents = shardWriter(join(outputDir, name));
  const flagged = new ParquetWriter(join(outputDir, flaggedFolder, name), { schema: flaggedSchema });
  try {
    for await (const { id, text, source } of readShard(path, signal)) {
      const finding = await screenText(text, index, rule);
      const bytes = Buffer.byteLength(text);
      if (finding?.contaminated !== true) {
        add(counts.kept, bytes);
        await documents.write({ id, text, source });
      }
      if (finding === undefined) continue;
      add(finding.contaminated ? counts.contaminated : counts.touched, bytes);
      if (finding.contaminated) for (const { id: item } of finding.evaluations) leaks.set(item, (leaks.get(item) ?? 0) + 1);
      await flagged.write({ id, source, ...finding, paragraph: Array.from(finding.paragraph.slice(0, 2 * shownCharacters)).slice(0, shownCharacters).join("") });
    }
    await documents.close();
    await flagged.close();
  } finally {
    await documents.abort();
    await flagged.abort();
  }
  return { ...counts, leaks: Object.fromEntries(leaks) };
}

function none(): DocumentCounts {
  return { documents: 0, bytes: 0 };
}

function add(counts: DocumentCounts, bytes: number): void {
  counts.documents += 1;
  counts.bytes += bytes;
}

export const screenShardEntry = entry<typeof screenShard>(import.meta.url, "screenShard");
