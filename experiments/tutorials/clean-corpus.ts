/**
 * From messy corpora to a clean one: reads six sources, whatever their formats, passes over what is damaged and says so, keeps evaluations and copies out, and tells where every record went:
 *
 *     pnpm experiment clean-corpus
 *     pnpm experiment clean-corpus --set raw.texts=200 --set collect.workers=2
 */
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { entry, isMarinError } from "@marin/iris";
import { decontaminateOptions, decontaminateStep, dedupOptions, dedupStep, defineExperiment, defineStep, reportStep, type CollectedSource, type StepContext } from "@marin/marin";
import { bind, Dataset, execute, listFiles, literalPath } from "@marin/zephyr";
import { z } from "zod";

import { writeRawCorpora } from "./clean-corpus/raw-corpora.js";
import type { everyDocument, idOf, Source, sourceOf, toDocuments } from "./clean-corpus/to-documents.js";

/** Each source is a folder; files in it may be of any format. */
const sources: readonly Source[] = [
  { folder: "speeches", text: "speech" },
  { folder: "mirror", text: "speech", settings: { quote: "" } },
  { folder: "novel", text: "text" },
  { folder: "samples", text: "body", cleaning: "tags" },
  { folder: "crawl", text: "text", cleaning: "page" },
  { folder: "old", text: "text" },
];

const module = new URL("./clean-corpus/to-documents.ts", import.meta.url);
const named = {
  toDocuments: entry<typeof toDocuments>(module, "toDocuments"),
  idOf: entry<typeof idOf>(module, "idOf"),
  sourceOf: entry<typeof sourceOf>(module, "sourceOf"),
  everyDocument: entry<typeof everyDocument>(module, "everyDocument"),
};

const rawOptions = z.strictObject({ texts: z.int().min(12).default(60).describe("Texts of each of the larger sources.") });

/** Writes the messy corpora. With corpora of your own, leave this step out. */
const rawStep = defineStep({
  name: "raw-corpora",
  version: 1,
  async run({ config, directory }: StepContext<z.output<typeof rawOptions>>) {
    await writeRawCorpora(directory, config.texts);
    return { files: (await listFiles(directory)).length };
  },
});

const collectOptions = z.strictObject({
  minBytes: z.int().min(1).default(200).describe("Shorter texts are left out and counted, in UTF-8 bytes."),
  workers: z.int().min(0).default(0).describe("Worker threads; 0: the step's own. The documents do not depend on it."),
});

interface Collected {
  readonly documents: number;
  readonly bytes: number;
  readonly sources: Readonly<Record<string, CollectedSource & { readonly unreadable: number; readonly damagedFiles: number }>>;
  /** Files that could not be read to their end, and why. */
  readonly damaged: readonly { readonly file: string; readonly reason: string }[];
}

/** Reads every file of every source into documents, in shards by id. */
const collectStep = defineStep({
  name: "collect-corpora",
  version: 1,
  executionOnly: ["workers"],
  // The paths of the raw files stand in them.
  runRecords: ["bad-records"],
  async run({ config, inputs, directory, signal }: StepContext<z.output<typeof collectOptions>, { raw: { files: number } }>): Promise<Collected> {
    const root = inputs.raw.directory;
    const all = await listFiles(root);
    const damaged: { file: string; reason: string }[] = [];
    const badRecords = new Map<string, number>();
    const datasets = [];
    for (const { settings, ...source } of sources) {
      const readable: string[] = [];
      for (const { name, path } of all.filter((file) => file.name.startsWith(`${source.folder}/`))) {
        try {
          // Read once for what is wrong with it: a damaged container has no trustworthy record, a bad record only itself.
          const { counters } = await execute(Dataset.fromFiles(literalPath(path), { settings, onBadRecord: { skip: true } }).count(), { signal, name: "inspect" });
          badRecords.set(source.folder, (badRecords.get(source.folder) ?? 0) + (counters["bad-records"]?.sum ?? 0));
          readable.push(literalPath(path));
        } catch (error) {
          signal.throwIfAborted();
          const cause = isMarinError(error, "ZEPHYR_SHARD_FAILED") ? error.cause : error;
          if (!isMarinError(cause)) throw error;
          damaged.push({ file: name, reason: cause.message.replaceAll(path, name) });
        }
      }
      const records = Dataset.fromFiles<Readonly<Record<string, unknown>>>(readable, { settings, pathColumn: "file", onBadRecord: { skip: true, sideFile: join(literalPath(directory), "bad-records", `${source.folder}-{shard}-{basename}.jsonl`) } });
      datasets.push(records.flatMap(bind(named.toDocuments, { ...source, root, minBytes: config.minBytes })));
    }
    const [first, ...others] = datasets as [(typeof datasets)[number], ...typeof datasets];
    const documents = first.union(...others).groupBy(named.idOf, named.everyDocument, { sortBy: named.sourceOf, numOutputShards: 4 });
    const shards = documents.writeParquet(join(literalPath(directory), "part-{shard:05d}-of-{total:05d}.parquet"), { schema: { id: "string", text: "string", source: "string" } });
    const { counters } = await execute(shards, { workers: config.workers, signal, name: "collect" });

    const countsOf = ({ folder }: Source): Collected["sources"][string] => {
      const count = (what: string): number => counters[`${folder} ${what}`]?.sum ?? 0;
      return {
        files: all.filter(({ name }) => name.startsWith(`${folder}/`)).length,
        damagedFiles: damaged.filter(({ file }) => file.startsWith(`${folder}/`)).length,
        read: count("documents") + count("tooShort"),
        unreadable: (badRecords.get(folder) ?? 0) + count("unreadable"),
        documents: count("documents"),
        bytes: count("bytes"),
        tooShort: count("tooShort"),
        tooShortBytes: count("tooShortBytes"),
      };
    };
    const counts = Object.fromEntries(sources.map((source) => [source.folder, countsOf(source)]));
    const total = (key: "documents" | "bytes"): number => Object.values(counts).reduce((sum, source) => sum + source[key], 0);
    return { documents: total("documents"), bytes: total("bytes"), sources: counts, damaged };
  },
  lines: ({ documents, sources: counts, damaged }) => {
    const sum = (key: "files" | "unreadable" | "tooShort"): number => Object.values(counts).reduce((total, source) => total + source[key], 0);
    return [`documents of ${sum("files")} files: ${documents}; left out: ${sum("unreadable")} unreadable records, ${sum("tooShort")} too short`, ...damaged.map(({ reason }) => `left out: ${reason}`)];
  },
});

export const cleanCorpus = defineExperiment({
  name: "clean-corpus",
  summary: "Makes one clean corpus of messy ones in many formats: damage, evaluations and copies out, and a report of where every record went.",
  options: z.strictObject({ raw: rawOptions, collect: collectOptions, decontaminate: decontaminateOptions.omit({ fields: true }), dedup: dedupOptions }),
  steps(options) {
    const raw = rawStep({}, options.raw);
    const collect = collectStep({ raw }, options.collect);
    const evaluations = fileURLToPath(new URL("./clean-corpus/evaluations", import.meta.url));
    const decontaminate = decontaminateStep({ documents: collect }, { ...options.decontaminate, fields: ["passage"], evaluations });
    const dedup = dedupStep({ documents: decontaminate }, options.dedup);
    const report = reportStep({ documents: collect, decontaminate, dedup }, { title: "clean-corpus", examples: 5 });
    return { raw, collect, decontaminate, dedup, report };
  },
});
