import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { documentId, documentsPath, readDocuments, resolveOptions, runExperiment, type Artifact, type DecontaminateResult, type DedupResult, type Document } from "@marin/marin";
import { ParquetReader } from "@marin/zephyr";
import { afterAll, beforeAll, describe, expect, it } from "vitest";

import { cleanCorpus } from "./clean-corpus.js";

let directory: string;
let artifacts: Readonly<Record<string, Artifact<unknown>>>;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin clean-corpus [1] {a,b} {shard} ü #1 %20 *-"));
  const options = resolveOptions(cleanCorpus.options, ["raw.texts=12"]);
  artifacts = await runExperiment(cleanCorpus, options, { prefix: join(directory, "store"), workingDirectory: directory });
}, 120_000);
afterAll(async () => {
  await rm(directory, { recursive: true, force: true });
});

const folderOf = (step: string): string => artifacts[step]?.directory ?? "";

async function documentsIn(folder: string): Promise<Document[]> {
  const documents: Document[] = [];
  for await (const document of readDocuments(folder)) documents.push(document);
  return documents;
}

interface Stage {
  readonly name: string;
  readonly documents: number;
  readonly leftOut: readonly { readonly reason: string; readonly documents: number }[];
}

describe("clean-corpus on twelve texts of each source", () => {
  it("reads every source; damaged files and records are counted and told, nothing else is missing", async () => {
    const { sources, damaged } = artifacts["collect"]?.result as { sources: Record<string, Record<string, number>>; damaged: { file: string; reason: string }[] };
    expect(Object.fromEntries(Object.entries(sources).map(([name, { files, damagedFiles, documents, unreadable, tooShort }]) => [name, [files, damagedFiles, documents, unreadable, tooShort]]))).toEqual({
      speeches: [1, 0, 12, 1, 0],
      mirror: [1, 0, 8, 0, 0],
      novel: [1, 0, 12, 0, 0],
      samples: [2, 1, 12, 2, 0],
      crawl: [1, 0, 15, 0, 0],
      old: [6, 0, 52, 1, 0],
    });
    expect(damaged).toEqual([{ file: "samples/brown-upload.jsonl.gz", reason: expect.stringContaining("the file was cut short") as string }]);
    const told = await readFile(join(folderOf("collect"), "bad-records", "speeches-0-speeches.jsonl"), "utf8");
    const lines = (await readFile(join(folderOf("raw"), "speeches", "speeches.csv"), "utf8")).split("\n");
    expect(JSON.parse(told)).toMatchObject({ line: lines.findIndex((line) => line.startsWith("1861,nobody")) + 1, code: "ZEPHYR_BAD_CSV", text: expect.stringContaining("1861,nobody") as string });
    const documents = await documentsIn(folderOf("collect"));
    expect(documents).toHaveLength(111);
    for (const { id, text } of documents) expect(id).toBe(documentId(text));
    const text = (source: string): string => documents.find((document) => document.source === source)?.text ?? "";
    expect(text("samples/brown.jsonl.gz:1")).toMatch(/^The Fulton County Grand Jury said Friday an investigation of/);
    expect(text("crawl/site.warc.wet.gz:1")).toMatch(/^Psalm 1\n\nBlessed is the man .* the way of the ungodly shall perish\.$/s);
    expect(text("speeches/speeches.csv:1")).toMatch(/^Fellow-Citizens of the Senate and House/);
  });

  it("keeps documents with passages of the evaluation out, and copies in the place of others", async () => {
    const { evaluations, contaminated } = artifacts["decontaminate"]?.result as DecontaminateResult;
    expect(evaluations.mostLeaked.map(({ id, documents }) => [id, documents])).toEqual([["passages.jsonl#speech-1790", 2], ["passages.jsonl#novel-10", 1], ["passages.jsonl#novel-3", 1]]);
    expect(contaminated.documents).toBe(4);
    const removed: { source: string; keptSource: string; reason: string }[] = [];
    for await (const row of new ParquetReader<{ source: string; keptSource: string; reason: string }>({ path: join(folderOf("dedup"), "removed.parquet") })) removed.push(row);
    const pairs = (reason: string): string[] => removed.filter((row) => row.reason === reason).map(({ source, keptSource }) => [source, keptSource].map((each) => each.replace(/\/.*:/, " ")).sort().join(", ")).sort();
    // Of the mirror's first speech and the one it was made from nothing is left: they are in the evaluation.
    expect(pairs("exact")).toEqual(["crawl 1, crawl 2", "crawl 13, crawl 14", "crawl 7, crawl 8", "mirror 3, speeches 4", "mirror 5, speeches 7", "mirror 7, speeches 10"]);
    expect(pairs("near")).toEqual(["mirror 2, speeches 2", "mirror 4, speeches 5", "mirror 6, speeches 8", "mirror 8, speeches 11", "novel 1, old 1"]);
  });

  it("writes shards of what is left, and a report in which every record is accounted for", async () => {
    const { kept } = artifacts["dedup"]?.result as DedupResult;
    const left = [...(await documentsIn(documentsPath({ directory: folderOf("dedup") }, "train"))), ...(await documentsIn(documentsPath({ directory: folderOf("dedup") }, "validation")))];
    expect(left).toHaveLength(kept.documents);
    const names = ["part-00000-of-00004.parquet", "part-00001-of-00004.parquet", "part-00002-of-00004.parquet", "part-00003-of-00004.parquet"];
    for (const folder of [folderOf("collect"), folderOf("decontaminate"), join(folderOf("dedup"), "train")]) expect((await readdir(folder)).filter((name) => name.startsWith("part-"))).toEqual(names);

    const { funnel } = JSON.parse(await readFile(join(folderOf("report"), "report.json"), "utf8")) as { funnel: { stages: readonly Stage[] } };
    expect(funnel.stages.map(({ name, documents }) => [name, documents])).toEqual([["read", 115], ["collected", 111], ["decontaminated", 107], ["unique", 101], ["kept", kept.documents]]);
    for (const [index, { documents, leftOut }] of funnel.stages.entries()) {
      expect(documents - leftOut.reduce((sum, part) => sum + part.documents, 0)).toBe(funnel.stages[index + 1]?.documents ?? documents);
    }
    const page = await readFile(join(folderOf("report"), "report.html"), "utf8");
    for (const words of ["unreadable records", "in evaluations", "exact copies", "near copies", "Damaged files", "passages.jsonl#speech-1790"]) expect(page).toContain(words);
  });
});
