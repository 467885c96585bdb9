import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";

import { ParquetReader, writeParquet } from "@marin/zephyr";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";

import { defineExperiment } from "../experiment-definition.js";
import { resolveOptions } from "../options/resolve.js";
import { documentId } from "../processing/corpus/document.js";
import { dedupDocuments } from "../processing/dedup-documents.js";
import { readDocuments } from "../processing/documents-file.js";
import { runExperiment } from "../run-experiment.js";
import type { Artifact } from "../step.js";
import { dedupOptions, dedupStep, documentsPath, type DedupResult } from "./dedup.js";
import { documentsOptions, documentsStep } from "./documents.js";

const experiment = defineExperiment({
  name: "dedup",
  summary: "Collects texts and removes duplicates.",
  options: z.strictObject({ documents: documentsOptions, dedup: dedupOptions }),
  steps(options) {
    const documents = documentsStep({}, { ...options.documents, resolveFrom: import.meta.url });
    return { documents, dedup: dedupStep({ documents }, options.dedup) };
  },
});

const words = ["harbour", "lantern", "winter", "orchard", "copper", "meadow", "thunder", "velvet", "saddle", "compass", "granite", "willow", "ember", "ferry", "anchor", "barley", "canyon", "drift"];
let state = 7;

function word(): string {
  state = (state * 48271) % 2147483647;
  return `${words[state % words.length] ?? ""}${String(state % 97)}`;
}

function prose(count: number): string {
  return Array.from({ length: count }, (_, index) => word() + (index % 11 === 10 ? "." : "")).join(" ");
}

function replaced(text: string, share: number): string {
  return text.split(" ").map((each, index) => (index % Math.round(1 / share) === 3 ? word() : each)).join(" ");
}

/** The five strengths of edit. */
const edits: readonly ((text: string) => string)[] = [
  (text) => text.toUpperCase().replaceAll(". ", " -- "),
  (text) => text.split(" ").with(40, "otherwise").join(" "),
  (text) => replaced(text, 0.02),
  (text) => replaced(text, 0.05),
  (text) => `${replaced(text, 0.1)} ${prose(12)}.`,
];

interface Row {
  readonly id: string;
  readonly source: string;
  readonly reason: string;
  readonly keptId: string;
  readonly keptSource: string;
  readonly similarity: number;
}

const planted = 12;
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-dedup-"));
  const folder = join(root, "texts");
  await mkdir(folder);
  const originals = Array.from({ length: 60 }, () => prose(220));
  const licence = prose(400);
  const licensed = Array.from({ length: 200 }, (_, index) => `${licence} ${prose(index % 2 === 0 ? 160 : 45)}`);
  const row = (text: string): string => `${JSON.stringify({ text })}\n`;
  await writeFile(join(folder, "originals.jsonl"), originals.map(row).join(""));
  await writeFile(join(folder, "licensed.jsonl.gz"), gzipSync(licensed.map(row).join("")));
  const copies = originals.slice(0, planted).flatMap((text) => edits.map((edit) => ({ text: edit(text) })));
  await writeParquet(join(folder, "copies.parquet"), copies, { schema: { text: "string" } });
  for (const index of [0, 1, 30]) await writeFile(join(folder, `exact-${String(index)}.txt`), originals[index] ?? "");
});
afterAll(() => rm(root, { recursive: true }));

/** The dedup step's artifact with a store of its own. */
async function dedup(prefix: string, ...assignments: readonly string[]): Promise<Artifact<DedupResult>> {
  const options = resolveOptions(experiment.options, ["documents.source=texts", "dedup.validationFraction=0.2", ...assignments]);
  const artifacts = await runExperiment(experiment, options, { prefix: join(root, prefix), workingDirectory: root });
  return artifacts["dedup"] as Artifact<DedupResult>;
}

async function removedBy({ directory }: Artifact<DedupResult>): Promise<Row[]> {
  const rows: Row[] = [];
  for await (const row of new ParquetReader<Row>({ path: join(directory, "removed.parquet") })) rows.push(row);
  return rows;
}

/** Which original a document is or was made of. */
function groupOf(source: string): string {
  const index = Number(/\d+/.exec(source.replace(/^.*:/, ""))?.[0]);
  if (source.startsWith("copies")) return `originals ${String(Math.floor((index - 1) / edits.length))}`;
  if (source.startsWith("originals")) return `originals ${String(index - 1)}`;
  return source.startsWith("exact") ? `originals ${String(index)}` : source;
}

describe("planted duplicates, in files of four formats", () => {
  it("are found at every strength of edit, exact ones told apart; documents that share a licence all stay", async () => {
    const artifact = await dedup("one");
    const { result, directory } = artifact;
    const rows = await removedBy(artifact);
    for (const { source, keptSource } of rows) expect(groupOf(source)).toBe(groupOf(keptSource));
    const kept: { readonly id: string; readonly text: string; readonly source: string; readonly part: string }[] = [];
    for (const part of ["train", "validation"] as const) for await (const document of readDocuments(documentsPath(artifact, part))) kept.push({ ...document, part });
    expect(kept.map(({ source }) => groupOf(source)).sort()).toEqual([...Array.from({ length: 60 }, (_, index) => `originals ${String(index)}`), ...Array.from({ length: 200 }, (_, index) => `licensed.jsonl.gz:${String(index + 1)}`)].sort());
    for (const { id, text } of kept) expect(id).toBe(documentId(text));

    const keptIds = new Set(kept.map(({ id }) => id));
    for (const { id, reason, keptId, similarity } of rows) {
      expect(keptIds.has(keptId)).toBe(true);
      expect(reason === "exact").toBe(id === keptId);
      expect(similarity).toBeGreaterThanOrEqual(0.35);
    }
    const bytesOf = (texts: readonly { readonly text: string }[]): number => Buffer.byteLength(texts.map(({ text }) => text).join(""));
    expect(rows).toHaveLength(planted * edits.length + 3);
    expect(result.kept).toEqual({ documents: 260, bytes: bytesOf(kept) });
    for (const part of ["train", "validation"] as const) {
      const documents = kept.filter((document) => document.part === part);
      expect(result[part]).toEqual({ documents: documents.length, bytes: bytesOf(documents) });
    }
    expect(result.removed.exact.documents + result.removed.near.documents).toBe(rows.length);
    expect(result.removed.exact.documents).toBe(rows.filter(({ reason }) => reason === "exact").length);
    expect(result.removed.exact.documents).toBeGreaterThanOrEqual(1);
    expect(result.clusters).toBe(planted + 1);

    const examples = JSON.parse(await readFile(join(directory, "examples.json"), "utf8")) as Record<string, string>[];
    expect(examples).toHaveLength(20);
    const removedIds = new Set(rows.map(({ id }) => id));
    for (const { keptId = "", removedId = "", removedText = "" } of examples) {
      expect([keptIds.has(keptId), removedIds.has(removedId)]).toEqual([true, true]);
      expect(removedText.length).toBeGreaterThan(500);
    }
  });

  it("give the same bytes with two workers; each option but that one makes another artifact", async () => {
    const [one, two] = [await dedup("one"), await dedup("two", "documents.workers=2", "dedup.workers=2")];
    expect([two.fingerprint, two.record.digest]).toEqual([one.fingerprint, one.record.digest]);
    expect(await readdir(two.directory, { recursive: true })).toEqual(await readdir(one.directory, { recursive: true }));
    const strict = await dedup("one", "dedup.minSimilarity=1");
    expect(strict.fingerprint).not.toBe(one.fingerprint);
    expect((await removedBy(strict)).every(({ similarity }) => similarity === 1)).toBe(true);
    expect(strict.result.kept.documents).toBe(260 + planted * (edits.length - 1));
  });

  it("presets, keeping, linking and verification are options; those that are today's leave the artifact as it is", async () => {
    const before = await dedup("one");
    expect((await dedup("one", "dedup.preset=null", "dedup.verify=true", "dedup.keep=central", "dedup.link=direct")).fingerprint).toBe(before.fingerprint);
    const first = await dedup("one", "dedup.keep=first");
    const rows = await removedBy(first);
    expect(rows.map(({ source }) => groupOf(source)).sort()).toEqual((await removedBy(before)).map(({ source }) => groupOf(source)).sort());
    // "copies.parquet" comes before "originals.jsonl", and the first row of five before the others.
    for (const { keptSource } of rows.filter(({ source }) => source.startsWith("copies"))) expect(keptSource).toMatch(/^copies\.parquet:(\d*[16])$/);
    const fineweb = await dedup("one", "dedup.preset=fineweb");
    // One word in ten changed is mostly beyond that preset's bands, and licences that are found are told apart by their words.
    expect(fineweb.result.removed.near.documents).toBeLessThan(before.result.removed.near.documents);
    expect(fineweb.result.removed.near.documents).toBeGreaterThanOrEqual(2 * planted);
    for (const { source, keptSource } of await removedBy(fineweb)) expect(groupOf(source)).toBe(groupOf(keptSource));
    // What the bands of the laxest preset say, unread: documents that share a licence go, as the option warns.
    const unverified = await dedup("one", "dedup.preset=duplodocus", "dedup.verify=false", "dedup.link=transitive", "dedup.keep=longest");
    expect((await removedBy(unverified)).some(({ source, keptSource }) => groupOf(source) !== groupOf(keptSource))).toBe(true);
    expect(() => resolveOptions(experiment.options, ["dedup.verify=false"])).toThrow(expect.objectContaining({ code: "MARIN_OPTION_VALUE", message: expect.stringContaining("name one (marin, fineweb, nemo, duplodocus)") as string }));
    await expect(dedupDocuments({ documents: root, outputDir: root, verify: false })).rejects.toMatchObject({ code: "MARIN_DEDUP_OPTION" });
    for (const preset of ["nope", "constructor"]) {
      await expect(dedupDocuments({ documents: root, outputDir: root, preset: preset as "marin" })).rejects.toMatchObject({ code: "MARIN_DEDUP_OPTION" });
    }
  });

  it("a part without documents is an error that says what to change", async () => {
    await expect(dedup("one", "dedup.validationFraction=0.0001")).rejects.toMatchObject({
      code: "MARIN_EMPTY_SPLIT",
      data: { split: "validation", documents: 260 },
      message: expect.stringContaining("raise dedup.validationFraction") as string,
    });
    await expect(dedup("one", "dedup.validationFraction=0.9999")).rejects.toMatchObject({ code: "MARIN_EMPTY_SPLIT", data: { split: "train" } });
  });
});
