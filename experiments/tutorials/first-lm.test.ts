import { appendFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { readDocuments } from "@marin/marin";
import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { tiny, writeCorpus } from "../test/corpus.js";
import { directoryOf, firstLm, ran } from "../test/run-command.js";

const everyStep = ["documents", "dedup", "tokenizer", "tokens", "train", "baselines", "evaluate", "sample", "report"];

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-first-lm-"));
  await writeCorpus(join(directory, "texts"), 60);
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** The steps that a run would run. */
async function wouldRun(args: readonly string[]): Promise<string[]> {
  const [plan] = (await firstLm(directory, [...tiny, ...args, "--dry-run"])).events as unknown as { steps: { step: string; action: string }[] }[];
  return (plan?.steps ?? []).filter(({ action }) => action === "run").map(({ step }) => step);
}

describe("first-lm on a small folder of texts", () => {
  it("trains, measures and samples; then reruns exactly what a change reaches", { timeout: 400_000 }, async () => {
    const first = await firstLm(directory, tiny);
    expect(first.stderr).toBe("");
    expect(first.code).toBe(0);
    expect(ran(first).sort()).toEqual(everyStep.toSorted());
    const { lines = [], results } = first.events.at(-1) ?? {};
    expect(lines.map((line) => line.replace(/\d+\.\d+/, "0.0")).slice(0, 6)).toEqual([
      "validation loss: 0.0 nats per token",
      "bits per byte: 0.0",
      "baseline token unigram: 0.0 bits per byte",
      "baseline byte 3-gram: 0.0 bits per byte",
      "baseline byte 5-gram: 0.0 bits per byte",
      "sample:",
    ]);
    const { validationLoss, bitsPerByte, tokens, bytes } = results?.["evaluate"] as Record<string, number>;
    expect(bitsPerByte).toBeCloseTo(((validationLoss ?? 0) * (tokens ?? 0)) / Math.LN2 / (bytes ?? 1), 10);
    let validationBytes = 0;
    for await (const { text } of readDocuments(join(directoryOf(first, "dedup"), "validation"))) validationBytes += Buffer.byteLength(text);
    expect(bytes).toBe(validationBytes);
    expect(JSON.parse(await readFile(join(directoryOf(first, "tokenizer"), "tokenizer.json"), "utf8"))).toMatchObject({ model: { type: "BPE" } });

    const second = await firstLm(directory, tiny);
    expect([ran(second), second.code]).toEqual([[], 0]);
    expect(second.events.at(-1)?.lines).toEqual(lines);

    const changed = await firstLm(directory, [...tiny, "--set", "train.learningRate=0.0123"]);
    expect(ran(changed).sort()).toEqual(["evaluate", "report", "sample", "train"]);
    expect(changed.events.filter(({ event }) => event === "step-started").map(({ step }) => step)).toHaveLength(4);
    expect(await wouldRun(["--set", "sample.temperature=0", "--set", "train.threads=1", "--set", "train.checkpointEvery=7"])).toEqual(["sample", "report"]);
    expect(await wouldRun(["--set", "documents.workers=1", "--set", "dedup.workers=1"])).toEqual([]);
    await appendFile(join(directory, "texts", "000.txt"), "and the mate saw it too.\n");
    expect(await wouldRun([])).toEqual(everyStep);
  });

  it.each([
    ["a missing folder", () => Promise.resolve(), "nowhere", ["documents.source=./nowhere"]],
    ["an empty folder", () => mkdir(join(directory, "empty")), "empty", ["documents.source=./empty"]],
    ["a file that is not UTF-8", () => writeFile(join(directory, "texts", "latin.txt"), Buffer.from("caf\xe9 ".repeat(40), "latin1")), "latin.txt", []],
    ["more tokens than the text gives", () => Promise.resolve(), "vocabSize=", ["tokenizer.vocabSize=60000"]],
  ])("names %s, and leaves nothing half-written", { timeout: 120_000 }, async (_case, prepare, named, assignments) => {
    await prepare();
    const { code, stderr } = await firstLm(directory, [...tiny, ...assignments.flatMap((assignment) => ["--set", assignment])]);
    expect(code).toBe(1);
    expect(stderr).toMatch(/^error: .+\n$/);
    expect(stderr).toContain(named);
    const left = await readdir(directory, { recursive: true });
    expect(left.filter((name) => name.includes("partial"))).toEqual([]);
  });
});
