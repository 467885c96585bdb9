import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { writeDocuments } from "../../test/write-documents.js";
import { tokenizeDocuments } from "../processing/tokenize-documents.js";
import { trainTokenizer } from "../processing/tokenizer/train-tokenizer.js";
import { evaluateBaselines } from "./baselines.js";

test("all baselines score the same bytes and ends; a longer history helps on regular text", async () => {
  const root = await mkdtemp(join(tmpdir(), "marin-baselines-"));
  try {
    const verse = (i: number): string => `${String(i)} green bottles hanging on the wall, and if one green bottle should fall, there'll be ${String(i - 1)} ✓`;
    const train = await writeDocuments(join(root, "train-documents"), Array.from({ length: 90 }, (_, i) => verse(i + 10)));
    const held = [verse(104), verse(105)];
    const validation = await writeDocuments(join(root, "validation-documents"), held);
    const { path: tokenizerPath } = await trainTokenizer({ documents: train, vocabSize: 290, outputDir: root });
    const trainTokens = join(root, "train");
    const validationTokens = join(root, "validation");
    await tokenizeDocuments({ documents: train, tokenizerPath, outputDir: trainTokens });
    await tokenizeDocuments({ documents: validation, tokenizerPath, outputDir: validationTokens });

    const baselines = await evaluateBaselines({ train, validation, trainTokens, validationTokens });
    expect(baselines.map(({ name }) => name)).toEqual(["token unigram", "byte 3-gram", "byte 5-gram"]);
    for (const { bits, bytes, bitsPerByte } of baselines) {
      expect(bytes).toBe(Buffer.byteLength(held.join("")));
      expect(bitsPerByte).toBe(bits / bytes);
    }
    const [unigram, three, five] = baselines.map(({ bitsPerByte }) => bitsPerByte) as [number, number, number];
    expect(three).toBeLessThan(unigram);
    expect(five).toBeLessThan(three);
  } finally {
    await rm(root, { recursive: true });
  }
});
