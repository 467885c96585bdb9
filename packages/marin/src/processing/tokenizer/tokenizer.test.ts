import fc from "fast-check";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { writeDocuments } from "../../../test/write-documents.js";
import { loadTokenizer, type Tokenizer } from "./tokenizer.js";
import { trainTokenizer } from "./train-tokenizer.js";

function fixture(name: string): unknown {
  return JSON.parse(readFileSync(new URL(`../../../test/fixtures/${name}`, import.meta.url), "utf8"));
}

/** What Hugging Face's `tokenizers` 0.23.2 makes of the samples with the tokenizer.json that is trained below. */
const reference = fixture("bpe-ids.json") as { vocabSize: number; samples: { text: string; ids: number[] }[] };
const { text: trainingText } = fixture("bpe-merges.json") as { text: string };

let root: string;
let documents: string;
let path: string;
let tokenizer: Tokenizer;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-tokenizer-"));
  documents = await writeDocuments(join(root, "train"), [trainingText]);
  ({ path } = await trainTokenizer({ documents, vocabSize: reference.vocabSize, outputDir: root }));
  tokenizer = await loadTokenizer(path);
});
afterAll(async () => {
  await rm(root, { recursive: true });
});

test("the vocabulary has exactly the size asked for, the end-of-text token last", () => {
  expect(tokenizer.vocabSize).toBe(600);
  expect(tokenizer.endOfTextId).toBe(599);
});

test.each(reference.samples)("ids equal those of Hugging Face's library: $text", ({ text, ids }) => {
  expect([...tokenizer.encode(text)]).toEqual(ids);
});

test("every text comes back, and its byte length is known", () => {
  const text = fc.oneof(fc.string({ unit: "binary" }), fc.string({ unit: "grapheme" }), fc.array(fc.constantFrom(" ", "\n", "the", "'s", "\uFEFF", "<|endoftext|>", "9", "_")).map((parts) => parts.join("")));
  fc.assert(
    fc.property(text, (original) => {
      const ids = tokenizer.encode(original);
      expect(tokenizer.decode(ids)).toBe(original);
      expect(tokenizer.byteLength(ids)).toBe(Buffer.byteLength(original));
    }),
    { numRuns: 500 },
  );
});

test("each of the 256 bytes has a token of its own", () => {
  const bytes = Array.from({ length: 256 }, (_, id) => tokenizer.decodeBytes([id])[0]);
  expect(bytes.toSorted((a, b) => (a as number) - (b as number))).toEqual(Array.from({ length: 256 }, (_, byte) => byte));
});

test("the special token is not read from text, and stands for no bytes", () => {
  expect(tokenizer.encode("<|endoftext|>")).not.toContain(tokenizer.endOfTextId);
  expect(tokenizer.decode([...tokenizer.encode("end"), tokenizer.endOfTextId])).toBe("end");
});

test("tokens that end inside a character decode to the replacement character", () => {
  const ids = tokenizer.encode("🙂");
  expect(ids.length).toBeGreaterThan(1);
  expect(tokenizer.decode(ids.slice(0, -1))).toBe("\uFFFD");
});

test("training again gives the same bytes", async () => {
  const again = await trainTokenizer({ documents, vocabSize: reference.vocabSize, outputDir: join(root, "again") });
  expect((await readFile(again.path)).equals(await readFile(path))).toBe(true);
});

test("a vocabulary too small for the bytes, or too large for the text, is refused with the size that works", async () => {
  const train = (vocabSize: number) => trainTokenizer({ documents, vocabSize, outputDir: join(root, "refused") });
  await expect(train(256)).rejects.toMatchObject({ code: "MARIN_VOCAB_SIZE" });
  const error = (await train(100_000).catch((thrown: unknown) => thrown)) as { code: string; data: { largest: number } };
  expect(error.code).toBe("MARIN_VOCAB_TOO_LARGE");
  expect((await train(error.data.largest)).vocabSize).toBe(error.data.largest);
  await expect(train(error.data.largest + 1)).rejects.toMatchObject({ code: "MARIN_VOCAB_TOO_LARGE" });
});

test("an aborted signal stops training with its reason", async () => {
  await expect(trainTokenizer({ documents, vocabSize: 300, outputDir: join(root, "aborted"), signal: AbortSignal.abort(new Error("enough")) })).rejects.toThrow("enough");
});

test("a missing file and a file that is no such tokenizer are told apart", async () => {
  await expect(loadTokenizer(join(root, "missing.json"))).rejects.toMatchObject({ code: "MARIN_TOKENIZER_UNREADABLE" });
  const bad = join(root, "bad.json");
  const file = JSON.parse(await readFile(path, "utf8")) as { added_tokens: unknown[]; model: { vocab: Record<string, number> } };
  for (const [content, message] of [
    ["{", "JSON"],
    [JSON.stringify({ ...file, added_tokens: [] }), "no special token"],
    [JSON.stringify({ ...file, model: { ...file.model, type: "WordPiece" } }), "model.type"],
  ] as const) {
    await writeFile(bad, content);
    await expect(loadTokenizer(bad)).rejects.toMatchObject({ code: "MARIN_TOKENIZER_INVALID", data: { path: bad }, message: expect.stringContaining(message) as string });
  }
});

test("an id outside the vocabulary is refused", () => {
  expect(() => tokenizer.decode([600])).toThrow("There is no token 600");
});
