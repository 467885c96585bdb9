import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ParquetReader, writeParquet } from "@marin/zephyr";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { RandomProse } from "../../../test/random-prose.js";
import { documentId } from "../corpus/document.js";
import { readDocuments, shardName } from "../documents-file.js";
import { decontaminateDocuments, type DecontaminateOptions, type DecontaminatedDocuments } from "./decontaminate-documents.js";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-decontaminate-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

const prose = new RandomProse(17);

/** Writes documents by name into two shards, dealt in turn. */
async function writeShards(texts: Readonly<Record<string, string>>): Promise<void> {
  const shards = 2;
  const rows = Object.entries(texts).map(([source, text]) => ({ id: documentId(text), text, source }));
  await mkdir(join(root, "documents"), { recursive: true });
  for (let shard = 0; shard < shards; shard += 1) {
    const own = rows.filter((_, row) => row % shards === shard);
    await writeParquet(join(root, "documents", shardName(shard, shards)), own, { schema: { id: "string", text: "string", source: "string" } });
  }
}

async function writeEvaluations(files: Readonly<Record<string, string>>): Promise<void> {
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(root, "evaluations", name)), { recursive: true });
    await writeFile(join(root, "evaluations", name), content);
  }
}

const lines = (rows: readonly object[]): string => rows.map((row) => `${JSON.stringify(row)}\n`).join("");

function run(options: Partial<DecontaminateOptions> = {}): Promise<DecontaminatedDocuments> {
  return decontaminateDocuments({ documents: join(root, "documents"), evaluations: join(root, "evaluations"), outputDir: join(root, "out"), ...options });
}

interface Flagged {
  readonly id: string;
  readonly source: string;
  readonly contaminated: boolean;
  readonly overlap: number;
  readonly coverage: number;
  readonly paragraph: string;
  readonly evaluations: readonly { readonly id: string; readonly coverage: number }[];
  readonly ngrams: readonly bigint[];
}

async function flagged(out = join(root, "out")): Promise<Record<string, Flagged>> {
  const rows: Flagged[] = [];
  for (const name of await readdir(join(out, "flagged"))) for await (const row of new ParquetReader<Flagged>({ path: join(out, "flagged", name) })) rows.push(row);
  return Object.fromEntries(rows.map((row) => [row.source, row]));
}

async function kept(): Promise<string[]> {
  const sources: string[] = [];
  for await (const { source } of readDocuments(join(root, "out"))) sources.push(source);
  return sources.sort();
}

describe("Decontamination", () => {
  it("planted 13-gram leaks are found and attributed, whatever stands around them; numeric runs and chance phrases are not flagged; file names are mirrored", async () => {
    const [question, passage, shared] = [prose.words(20), prose.words(60), prose.words(30)];
    const numbers = Array.from({ length: 40 }, (_, place) => String(place * 7)).join(" ");
    await writeEvaluations({
      "arc/test.jsonl": lines([{ id: "q1", text: question }, { id: "short", text: "Name the capital of Burgundy." }, { id: "numbers", text: numbers }]),
      "reading/test.jsonl": lines([{ text: `${passage}\n\n${prose.words(30)}` }, { text: shared }]),
      "reading/more/test.jsonl": lines([{ text: shared }]),
    });
    const thirteen = (text: string, from: number): string => text.split(" ").slice(from, from + 13).join(" ");
    const clean = Object.fromEntries(Array.from({ length: 40 }, (_, number) => [`clean ${String(number)}`, Array.from({ length: 4 }, () => prose.words(60)).join("\n\n")]));
    const leaks = {
      "as a paragraph, in capitals": `${prose.words(200)}\n\n${question.toUpperCase().replaceAll(" ", ",  ")}!\n\n${prose.words(40)}`,
      "inside a long paragraph": `${prose.words(200)} ${question} ${prose.words(200)}`,
      "across paragraphs": `${prose.words(30)}\n\n${question.split(" ").slice(0, 9).join(" ")}\n\n${question.split(" ").slice(9).join(" ")}\n\n${prose.words(30)}`,
      "short and alone": `${prose.words(50)}\n\nName the capital of Burgundy\n\n${prose.words(50)}`,
      "of two items": `${prose.words(50)}\n\n${shared}`,
    };
    const touched = { "thirteen words": `${prose.words(100)} ${thirteen(passage, 20)} ${prose.words(100)}` };
    const innocent = {
      "twelve words": `${prose.words(50)}\n\n${prose.words(5)} ${passage.split(" ").slice(5, 17).join(" ")} ${prose.words(5)}`,
      "the numbers": `${prose.words(20)}\n\n${numbers}\n\n${prose.words(20)}`,
      "the short one in a sentence": `${prose.words(20)} name the capital of burgundy ${prose.words(20)}`,
    };
    await writeShards({ ...clean, ...leaks, ...touched, ...innocent });
    const result = await run();

    const found = await flagged();
    expect(Object.keys(found).sort()).toEqual([...Object.keys(leaks), ...Object.keys(touched)].sort());
    expect(Object.values(found).filter(({ contaminated }) => contaminated).map(({ source }) => source).sort()).toEqual(Object.keys(leaks).sort());
    const owners = (name: string): string[] => (found[name]?.evaluations ?? []).map(({ id }) => id);
    for (const name of Object.keys(leaks).slice(0, 3)) expect(owners(name)).toEqual(["arc/test.jsonl#q1"]);
    expect(owners("short and alone")).toEqual(["arc/test.jsonl#short"]);
    expect(owners("of two items")).toEqual(["reading/more/test.jsonl:1", "reading/test.jsonl:2"]);
    expect(owners("thirteen words")).toEqual(["reading/test.jsonl:1"]);
    expect(found["thirteen words"]?.ngrams).toHaveLength(1);
    expect(found["as a paragraph, in capitals"]).toMatchObject({ overlap: 1, coverage: 1, paragraph: expect.stringContaining("!") as string });
    expect(found["inside a long paragraph"]?.overlap).toBeLessThan(0.05);

    expect(await kept()).toEqual([...Object.keys(clean), ...Object.keys(touched), ...Object.keys(innocent)].sort());
    const names = [shardName(0, 2), shardName(1, 2)];
    expect(await readdir(join(root, "out"))).toEqual(["evaluations", "flagged", ...names]);
    expect(await readdir(join(root, "out", "flagged"))).toEqual(names);
    expect(result).toMatchObject({
      documents: 44,
      contaminated: { documents: 5 },
      touched: { documents: 1 },
      evaluations: { items: 6, tooShort: 1, leaked: 4, mostLeaked: [{ id: "arc/test.jsonl#q1", documents: 3 }, { documents: 1 }, { documents: 1 }, { documents: 1 }] },
    });

    // The hashes of a document lead to the items: a join.
    const itemsOf = new Map<bigint, string[]>();
    for await (const { hash, evaluation } of new ParquetReader<{ hash: bigint; evaluation: string }>({ path: join(root, "out", "evaluations", "ngrams.parquet") })) itemsOf.set(hash, [...(itemsOf.get(hash) ?? []), evaluation]);
    for (const { ngrams, evaluations } of Object.values(found)) expect([...new Set(ngrams.flatMap((hash) => itemsOf.get(hash) ?? []))].sort()).toEqual(evaluations.map(({ id }) => id).sort());
  });

  it("thresholds decide what goes; what was found is the same", async () => {
    const passage = prose.words(40);
    await writeEvaluations({ "test.jsonl": lines([{ text: passage }]) });
    // 18 of the 28 n-grams of the item, 18 of the paragraph's 58.
    await writeShards({ half: `${passage.split(" ").slice(0, 30).join(" ")} ${prose.words(40)}`, clean: prose.words(100) });
    const cases: readonly [Partial<DecontaminateOptions>, number][] = [[{}, 1], [{ minCoverage: 0.7 }, 0], [{ minCoverage: null }, 0], [{ minCoverage: null, minOverlap: 0.3 }, 1], [{ minCoverage: null, minOverlap: 0.32 }, 0]];
    for (const [options, gone] of cases) {
      expect((await run(options)).contaminated.documents).toBe(gone);
      expect((await flagged())["half"]).toMatchObject({ overlap: 18 / 58, coverage: 18 / 28 });
    }
  });

  it("n-grams that many texts share count for nothing where it is asked for: a licence in an item gives it away no more, its own text does", async () => {
    const [licence, own, other] = [prose.words(30), prose.words(30), prose.words(20)];
    await writeEvaluations({ "quiz.jsonl": lines([{ id: "licensed", text: `${licence} ${own}` }, { id: "licence", text: licence }, { id: "other", text: other }]) });
    const licensed = Object.fromEntries(Array.from({ length: 5 }, (_, number) => [`licensed ${String(number)}`, `${licence}\n\n${prose.words(60)}`]));
    // Four copies of one text are one text: what they have is no more common for it.
    const leak = `${prose.words(20)}\n\n${other}`;
    const leaks = { leak: `${prose.words(40)} ${licence} ${own}`, ...Object.fromEntries(["a", "b", "c", "d"].map((copy) => [`copy ${copy}`, leak])) };
    await writeShards({ ...licensed, ...leaks, clean: prose.words(60) });
    expect((await run()).contaminated.documents).toBe(10);
    expect((await run({ commonAbove: 6 })).evaluations.common).toEqual({ ngrams: 0, items: 0 });

    const result = await run({ commonAbove: 3 });
    expect(result).toMatchObject({ documents: 6, contaminated: { documents: 5 }, evaluations: { items: 3, tooShort: 0, common: { ngrams: 18, items: 1 }, leaked: 2, mostLeaked: [{ id: "quiz.jsonl#other", documents: 4 }, { id: "quiz.jsonl#licensed", documents: 1 }] } });
    expect(Object.keys(await flagged()).sort()).toEqual(Object.keys(leaks).sort());
    const common = [];
    for await (const row of new ParquetReader<{ evaluation: string; documents: number }>({ path: join(root, "out", "evaluations", "common.parquet") })) common.push(`${row.evaluation} ${String(row.documents)}`);
    expect(common.sort()).toEqual([...Array.from({ length: 18 }, () => "quiz.jsonl#licence 6"), ...Array.from({ length: 18 }, () => "quiz.jsonl#licensed 6")]);
    await writeEvaluations({ "quiz.jsonl": lines([{ text: licence }]) });
    await expect(run({ commonAbove: 3 })).rejects.toMatchObject({ code: "MARIN_NO_EVALUATIONS", message: expect.stringContaining("commonAbove") as string });
  });

  it("files beside the evaluations are passed over; fields are passages; rows without any are refused", async () => {
    const [question, answer] = [prose.words(15), prose.words(15)];
    await writeEvaluations({
      "qa.jsonl": lines([{ id: 7, question, answers: [answer, prose.words(4)], label: 3 }]),
      "README.md": question,
      "LICENSE.txt": answer,
      "stats.json": '{"items":1}',
      ".cache.jsonl": "broken",
    });
    await writeShards({ question: `${prose.words(80)} ${question}`, answer: `${prose.words(80)} ${answer}`, clean: prose.words(80) });
    const result = await run({ fields: ["question", "answers"], minCoverage: 0.4 });
    expect(result).toMatchObject({ documents: 1, contaminated: { documents: 2 }, evaluations: { items: 1, leaked: 1, mostLeaked: [{ id: "qa.jsonl#7", documents: 2 }] } });
    await expect(run()).rejects.toMatchObject({ code: "MARIN_EVALUATION_RECORD", data: { row: 1 }, message: expect.stringContaining("its fields are id, question, answers, label") as string });
    await expect(run({ fields: ["label"] })).rejects.toMatchObject({ code: "MARIN_EVALUATION_RECORD" });
  });

  it("says what is wrong when there is nothing to compare with, or nothing left", async () => {
    const text = prose.words(50);
    await writeShards({ only: text });
    await expect(run()).rejects.toMatchObject({ code: "MARIN_NO_EVALUATIONS" });
    await writeEvaluations({ "README.md": text });
    await expect(run()).rejects.toMatchObject({ code: "MARIN_NO_EVALUATIONS", data: { folder: join(root, "evaluations") } });
    await writeEvaluations({ "test.jsonl": lines([{ text: "too short" }, { text: "1 2 3 4 5" }]) });
    await expect(run()).rejects.toMatchObject({ code: "MARIN_NO_EVALUATIONS", data: { items: 2 } });
    await writeEvaluations({ "more.jsonl": lines([{ text }]) });
    await expect(run()).rejects.toMatchObject({ code: "MARIN_NO_DOCUMENTS" });
    for (const options of [{ ngramWords: 0 }, { leastWords: 1.5 }, { minOverlap: 0 }, { minCoverage: 1.1 }, { minOverlap: NaN }, { commonAbove: 0 }]) {
      await expect(run(options)).rejects.toMatchObject({ code: "MARIN_DECONTAMINATION_OPTION", data: { option: Object.keys(options)[0] } });
    }
  });
});
