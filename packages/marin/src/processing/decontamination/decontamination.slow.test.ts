import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { writeParquet } from "@marin/zephyr";
import { afterEach, beforeEach, expect, test } from "vitest";
import { RandomProse } from "../../../test/random-prose.js";
import { documentId } from "../corpus/document.js";
import { shardName } from "../documents-file.js";
import { decontaminateDocuments } from "./decontaminate-documents.js";
import { openEvaluationIndex, writeEvaluationIndex } from "./evaluation-index.js";
import { screenText } from "./screen-text.js";
import { passageNgrams } from "./text-ngrams.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "marin-decontamination-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

test("Decontamination: none of 100,000 clean documents is flagged beside 88,000 n-grams of evaluations, and every planted one is", async () => {
  const rule = { ngramWords: 13, leastWords: 3, minOverlap: 0.5, minCoverage: 0.5 };
  const prose = new RandomProse(99);
  const passages = Array.from({ length: 1000 }, () => prose.words(100));
  const { ngrams } = await writeEvaluationIndex(folder, new Map(passages.map((passage, item) => [`item ${String(item)}`, passageNgrams(passage, rule)])));
  expect(ngrams).toBe(88_000);
  const index = await openEvaluationIndex(folder);
  // A number at times, as in real text.
  const paragraph = (): string => `${prose.words(30)} ${String(prose.below(3000))} ${prose.words(29)}`;
  let flagged = 0;
  for (let document = 0; document < 100_000; document += 1) if ((await screenText(`${paragraph()}\n\n${paragraph()}`, index, rule)) !== undefined) flagged += 1;
  expect(flagged).toBe(0);
  for (const [item, passage] of passages.entries()) {
    const from = prose.below(40);
    const finding = await screenText(`${paragraph()} ${passage.split(" ").slice(from, from + 60).join(" ")} ${paragraph()}`, index, rule);
    expect(finding).toMatchObject({ contaminated: true, evaluations: [{ id: `item ${String(item)}` }] });
    // 48 of its 88 n-grams, and one more where the next word happens to be the same.
    expect(finding?.coverage).toBeGreaterThanOrEqual(48 / 88);
  }
});

test("Decontamination: two workers give the same bytes as this process", async () => {
  const prose = new RandomProse(5);
  const questions = Array.from({ length: 30 }, () => prose.words(25));
  const rows = Array.from({ length: 60 }, (_, number) => `${prose.words(60)}\n\n${number % 4 === 0 ? (questions[number % 30] ?? "") : prose.words(25)}`).map((text, number) => ({ id: documentId(text), text, source: String(number) }));
  await mkdir(join(folder, "documents"));
  await mkdir(join(folder, "evaluations"));
  await writeFile(join(folder, "evaluations", "test.jsonl"), questions.map((text) => `${JSON.stringify({ text })}\n`).join(""));
  for (let shard = 0; shard < 3; shard += 1) {
    await writeParquet(join(folder, "documents", shardName(shard, 3)), rows.filter((_, row) => row % 3 === shard), { schema: { id: "string", text: "string", source: "string" } });
  }
  const results = [];
  for (const workers of [1, 2]) results.push(await decontaminateDocuments({ documents: join(folder, "documents"), evaluations: join(folder, "evaluations"), outputDir: join(folder, String(workers)), workers }));
  expect(results[0]?.contaminated.documents).toBe(15);
  expect(results[1]).toEqual(results[0]);
  const files = (await readdir(join(folder, "1"), { recursive: true, withFileTypes: true })).filter((file) => file.isFile()).map(({ parentPath, name }) => join(parentPath, name));
  expect(files).toHaveLength(8);
  for (const file of files) expect((await readFile(file.replace(join(folder, "1"), join(folder, "2")))).equals(await readFile(file)), file).toBe(true);
});
