import { TokenStore } from "@marin/levanter";
import { bind, Dataset } from "@marin/zephyr";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDocuments } from "../../test/write-documents.js";
import { tokenizeDocuments } from "./tokenize-documents.js";
import { openTokenCache, tokenCacheWriter } from "./tokenize-shard.js";
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

    const parts = await Dataset.fromFiles<{ text: string }>(join(root, "documents/*.parquet"))
      .writeTokenCache(join(root, "cache-{shard}"), { writer: bind(tokenCacheWriter, tokenizerPath), marker: "ledger.json" })
      .toArray();
    expect(parts).toEqual([{ path: join(root, "cache-0"), records: 3, bytes: store.byteCount, skipped: false }]);
    expect([...(await TokenStore.open(join(root, "cache-0"))).tokens]).toEqual([...store.tokens]);
    await expect(openTokenCache(tokenizerPath, { path: "gs://bucket/cache" })).rejects.toMatchObject({ code: "MARIN_NOT_LOCAL" });
  } finally {
    await rm(root, { recursive: true });
  }
});
