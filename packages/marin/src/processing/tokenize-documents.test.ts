import { TokenStore } from "@marin/levanter";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDocuments } from "../../test/write-documents.js";
import { tokenizeDocuments } from "./tokenize-documents.js";
import { loadTokenizer } from "./tokenizer/tokenizer.js";
import { trainTokenizer } from "./tokenizer/train-tokenizer.js";

test("the store holds each text's tokens and an end of text, and counts the texts' bytes alone", async () => {
  const root = await mkdtemp(join(tmpdir(), "marin-tokenize-"));
  try {
    const texts = ["Once upon a time.", "Zwölf Boxkämpfer jagen Viktor.", "The end, <|endoftext|> or not."];
    const documents = await writeDocuments(join(root, "documents"), texts);
    const { path: tokenizerPath } = await trainTokenizer({ documents, vocabSize: 280, outputDir: root });
    const outputDir = join(root, "tokens");
    const counts = await tokenizeDocuments({ documents, tokenizerPath, outputDir });

    const tokenizer = await loadTokenizer(tokenizerPath);
    const store = await TokenStore.open(outputDir);
    const ends = [...store.documentEnds];
    const decoded = ends.map((end, i) => tokenizer.decode(store.tokens.subarray(i === 0 ? 0 : ends[i - 1], end - 1)));
    expect(decoded).toEqual(texts);
    expect(ends.map((end) => store.tokens[end - 1])).toEqual(texts.map(() => tokenizer.endOfTextId));
    expect(store.tokens.filter((id) => id === tokenizer.endOfTextId)).toHaveLength(3);
    expect(store.byteCount).toBe(Buffer.byteLength(texts.join("")));
    expect(counts).toEqual({ documents: 3, tokens: store.tokenCount, bytes: store.byteCount });
    expect(store.vocabSize).toBe(280);
  } finally {
    await rm(root, { recursive: true });
  }
});
