import fc from "fast-check";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { documentId } from "./corpus/document.js";
import { splitDocuments, splitOf } from "./split-documents.js";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-split-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function put(texts: readonly string[]): Promise<string> {
  const path = join(root, "documents.jsonl");
  await writeFile(path, texts.map((text) => `${JSON.stringify({ id: documentId(text), text, source: "s" })}\n`).join(""));
  return path;
}

const numbered = Array.from({ length: 400 }, (_, i) => `document ${String(i)} é`);

test("every document lands in exactly one part, in order, and the counts are those of the files", async () => {
  const documents = await put(numbered);
  const parts = await splitDocuments({ documents, outputDir: join(root, "out"), validationFraction: 0.25 });
  const lines = async (path: string): Promise<string[]> => (await readFile(path, "utf8")).trimEnd().split("\n");
  const [train, validation] = [await lines(parts.train.path), await lines(parts.validation.path)];
  const original = await lines(documents);
  expect(train).toEqual(original.filter((line) => !validation.includes(line)));
  expect(validation).toEqual(original.filter((line) => !train.includes(line)));
  expect(parts.validation.documents).toBe(validation.length);
  expect(parts.train.bytes + parts.validation.bytes).toBe(Buffer.byteLength(numbered.join("")));
});

test("the share is about the fraction: 0.25 of 10,000 within five standard deviations", () => {
  const rule = { validationFraction: 0.25, salt: "" };
  const count = Array.from({ length: 10000 }, (_, i) => documentId(String(i))).filter((id) => splitOf(id, rule) === "validation").length;
  expect(Math.abs(count - 2500)).toBeLessThan(5 * Math.sqrt(10000 * 0.25 * 0.75));
});

test("a larger fraction only adds to the validation part; another salt gives another split", () => {
  fc.assert(
    fc.property(fc.string(), fc.double({ min: 0.01, max: 0.99 }), fc.double({ min: 0.01, max: 0.99 }), (id, a, b) => {
      const [low, high] = [Math.min(a, b), Math.max(a, b)];
      if (splitOf(id, { validationFraction: low, salt: "" }) === "validation") expect(splitOf(id, { validationFraction: high, salt: "" })).toBe("validation");
    }),
  );
  const parts = (salt: string): string[] => numbered.map((text) => splitOf(documentId(text), { validationFraction: 0.5, salt }));
  expect(parts("a")).not.toEqual(parts("b"));
});

test("an empty part is an error that says what to change, and leaves no file", async () => {
  const documents = await put(["only one"]);
  const outputDir = join(root, "out");
  await expect(splitDocuments({ documents, outputDir, validationFraction: 0.0001 })).rejects.toMatchObject({
    code: "MARIN_EMPTY_SPLIT",
    data: { split: "validation", documents: 1 },
    message: expect.stringContaining("raise documents.validationFraction") as string,
  });
  await expect(splitDocuments({ documents, outputDir, validationFraction: 0.9999 })).rejects.toMatchObject({ code: "MARIN_EMPTY_SPLIT", data: { split: "train" } });
  expect(await readdir(outputDir)).toEqual([]);
});

test.each([0, 1, -0.1, Number.NaN])("a fraction of %d is refused", async (validationFraction) => {
  await expect(splitDocuments({ documents: await put(numbered), outputDir: root, validationFraction })).rejects.toMatchObject({ code: "MARIN_SPLIT_FRACTION" });
});

test("a line that is no document is named", async () => {
  const documents = await put(numbered.slice(0, 2));
  await writeFile(documents, '{"id":"x"}\n', { flag: "a" });
  await expect(splitDocuments({ documents, outputDir: root })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path: documents, line: 3 } });
});
