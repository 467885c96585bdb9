import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { irisCtx, silentLogger, withLocalContext, type TaskProgress } from "@marin/iris";
import { writeJsonl, writeParquet } from "@marin/zephyr";
import { afterAll, beforeAll, expect, it } from "vitest";
import { scoreRows, type ScoreRow } from "../../test/score-rows.js";
import { proseOf, tinyModel } from "../../test/tiny-model.js";
import { scoreShards, type ScoreSummary } from "./score-job.js";
import { scoreTexts } from "./score-texts.js";
import { startServer } from "./server.js";
import { withServedModel, type ModelLocation } from "./served-model.js";

const documents = Array.from({ length: 150 }, (_, i) => ({ id: `d${String(i)}`, text: i === 7 ? "" : proseOf(100 + i, 1 + (i % 9)) }));

let root: string;
let location: ModelLocation;
let dataset: string;
let output: string;
let first: ScoreSummary;
let rows: ScoreRow[];
let next = 0;
const directory = (): string => join(root, `scores-${String(next++)}`);

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-scores-"));
  location = await tinyModel(join(root, "model"));
  dataset = await mkdtemp(join(root, "dataset-"));
  await writeJsonl(join(dataset, "a.jsonl"), documents.slice(0, 50));
  await writeParquet(join(dataset, "b.parquet"), documents.slice(50), { schema: { id: "string", text: "string" } });
  output = directory();
  first = await score({ output });
  rows = await scoreRows(output);
});
afterAll(() => rm(root, { recursive: true }));

function score(more: { readonly dataset?: string; readonly output: string }, signal = new AbortController().signal, onProgress: (progress: TaskProgress) => void = () => undefined): Promise<ScoreSummary> {
  return withLocalContext({ log: silentLogger, signal, onProgress }, () => scoreShards({ location, dataset, engine: "onnx", threads: 1, through: undefined, ...more }));
}

it("scores each document once, in order, in a file for each file", () => {
  expect(rows.map(({ id }) => id)).toEqual(documents.map(({ id }) => id));
  expect(first).toMatchObject({ shards: 2, documents: 150, scored: 150, bytes: documents.reduce((sum, { text }) => sum + Buffer.byteLength(text), 0) });
  const sum = (field: "tokens" | "nats"): number => rows.reduce((total, row) => total + row[field], 0);
  expect(first.tokens).toBe(sum("tokens"));
  expect(first.nats).toBeCloseTo(sum("nats"), 6);
  expect(first.bitsPerByte).toBeCloseTo(sum("nats") / Math.LN2 / first.bytes, 9);
  expect(rows[7]).toMatchObject({ tokens: 1, bytes: 0, bits_per_byte: null });
});

it("scores alike with a model of its own and through a running server", async () => {
  await withServedModel(location, { engine: "onnx", threads: 1 }, () => undefined, async (served) => {
    const [expected] = await scoreTexts(served, [documents[20]?.text ?? ""]);
    expect({ ...rows[20], id: undefined }).toEqual({ ...expected, id: undefined });
    const server = await startServer({ served, name: "tiny", log: silentLogger, token: "open-sesame-open" });
    const tokenFile = join(root, "token");
    await writeFile(tokenFile, "open-sesame-open\n");
    await withLocalContext({ log: silentLogger }, async () => {
      const remote = directory();
      const request = { location, dataset, output: remote, through: { endpoint: "tiny", tokenFile } };
      await expect(scoreShards(request)).rejects.toMatchObject({ code: "MARIN_SCORE_SERVER", message: 'the model server "tiny" isn\'t running' });
      await irisCtx().registry.register("tiny", server.url);
      await expect(scoreShards({ ...request, through: { endpoint: "tiny", tokenFile: undefined } })).rejects.toMatchObject({ code: "MARIN_SCORE_SERVER", message: expect.stringContaining("(unauthorized)") as string });
      expect(await scoreShards(request)).toEqual(first);
      expect(await scoreRows(remote)).toEqual(rows);
    });
    await server.stop(0);
  });
});

it("goes on where it was stopped: what is scored is not scored again, and nothing half-written is left", async () => {
  const resumed = directory();
  const controller = new AbortController();
  // Stops in the second file.
  const stopped = score({ output: resumed }, controller.signal, ({ detail }) => {
    if (detail === "file 2 of 2") controller.abort(new Error("stop"));
  });
  await expect(stopped).rejects.toThrow();
  expect((await readdir(resumed)).sort()).toEqual(["part-00000-of-00002.parquet", "scores.json"]);
  const before = await readFile(join(resumed, "part-00000-of-00002.parquet"));
  expect(await score({ output: resumed })).toEqual({ ...first, scored: 100 });
  expect(await readFile(join(resumed, "part-00000-of-00002.parquet"))).toEqual(before);
  for (const name of await readdir(output)) expect(await readFile(join(resumed, name))).toEqual(await readFile(join(output, name)));
  expect(await score({ output: resumed })).toEqual({ ...first, scored: 0 });
});

it("adds no scores to those of another dataset", async () => {
  await expect(score({ dataset: join(dataset, "a.jsonl"), output })).rejects.toMatchObject({ code: "MARIN_SCORES_OTHER", message: expect.stringContaining("scores of another files") as string });
  expect(await scoreRows(output)).toEqual(rows);
});

it("names the record that is no document, and keeps nothing of its file", async () => {
  const bad = join(root, "bad.jsonl");
  const nowhere = directory();
  for (const [line, problem] of [['{"id":[1],"text":"b"}', "has an id"], ['{"id":1}', "has no text"], ["7", "has no text"]]) {
    await writeFile(bad, `{"text":"a"}\n${line ?? ""}\n`);
    await expect(score({ dataset: bad, output: directory() })).rejects.toMatchObject({ code: "MARIN_SCORE_RECORD", message: expect.stringContaining(`bad.jsonl: record 1 ${problem ?? ""}`) as string });
  }
  await expect(score({ dataset: join(root, "nothing"), output: nowhere })).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});
