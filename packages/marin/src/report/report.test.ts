import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { pageOf } from "../../test/html-page.js";
import { writeReportArtifacts, type ReportTexts } from "../../test/report-artifacts.js";
import { buildReport } from "./build-report.js";
import type { ReportArtifacts } from "./inputs.js";
import { collectLineage } from "./lineage.js";
import { renderReport } from "./render.js";
import type { DuplicateExample, Report } from "./report.js";
import { collectRunFacts } from "./run-facts.js";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-report-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

async function reportOf(artifacts: ReportArtifacts, title = "first-lm"): Promise<{ report: Report; html: string }> {
  const lineage = await collectLineage(Object.values(artifacts).filter((artifact) => artifact !== undefined));
  const report = await buildReport(artifacts, lineage, { title, examples: 5 });
  return { report, html: renderReport(report, await collectRunFacts(artifacts, lineage)) };
}

const write = (texts: ReportTexts = {}, at = "store"): Promise<Required<ReportArtifacts>> => writeReportArtifacts(join(root, at), texts) as Promise<Required<ReportArtifacts>>;

describe("the facts", () => {
  it("are the same bytes for the same artifacts, wherever, whenever and by whom they were made", async () => {
    const [one, two] = [await reportOf(await write()), await reportOf(await write({ host: "other" }, "elsewhere"))];
    expect(JSON.stringify(two.report)).toBe(JSON.stringify(one.report));
    expect(two.html).not.toBe(one.html);
  });

  it("follow the documents: what a stage has is what the one before has, less what is left out", async () => {
    const { report } = await reportOf(await write());
    expect(report.funnel?.stages.map(({ name, documents, bytes }) => [name, documents, bytes])).toEqual([
      ["read", 1512, 18_512_803],
      ["collected", 1498, 18_512_340],
      ["unique", 1477, 18_309_230],
      ["kept", 1429, 17_948_908],
    ]);
    for (const [index, { documents, bytes, leftOut }] of (report.funnel?.stages ?? []).entries()) {
      const next = report.funnel?.stages[index + 1];
      if (next === undefined) continue;
      const out = (key: "documents" | "bytes"): number => leftOut.reduce((sum, part) => sum + (part[key] ?? 0), 0);
      expect(documents - out("documents")).toBe(next.documents);
      if (bytes !== undefined) expect(bytes - out("bytes")).toBe(next.bytes);
    }
    expect(report.funnel?.parts).toEqual([
      { name: "training", documents: 1368, bytes: 17_148_840, tokens: 4_402_689 },
      { name: "validation", documents: 61, bytes: 800_068, tokens: 203_446 },
    ]);
  });

  it("name every artifact with what it was made from, also those that were not given", async () => {
    const artifacts = await write();
    const { report } = await reportOf({ sample: artifacts.sample });
    expect(report.lineage.map(({ step }) => step)).toEqual(["documents", "dedup", "tokenizer", "tokens", "train", "sample"]);
    const train = report.lineage.find(({ step }) => step === "train");
    expect(train).toMatchObject({
      kind: "train",
      version: "1",
      state: "present",
      fingerprint: artifacts.train.fingerprint,
      digest: artifacts.train.record.digest,
      inputs: { tokens: artifacts.tokens.fingerprint },
      config: { steps: 60, learningRate: 1e-3 },
      files: { count: 2 },
    });
  });

  it("refuse an artifact that lies in no store", async () => {
    const { sample } = await write();
    await expect(collectLineage([{ ...sample, directory: join(root, "a", "b") }])).rejects.toMatchObject({ code: "MARIN_REPORT_INPUT" });
  });
});

describe("the page", () => {
  it("is valid HTML, complete in itself, with a title, ordered headlines, table heads and described pictures", async () => {
    const { html } = await reportOf(await write());
    const page = pageOf(html);
    expect(page.errors).toEqual([]);
    expect(page.outside).toEqual([]);
    expect(page.text("title")).toEqual(["first-lm: experiment report"]);
    expect(page.attributes("html", "lang")).toEqual(["en"]);
    expect(page.headings).toEqual(expect.arrayContaining(["h1 first-lm", "h2 From documents to tokens", "h2 Duplicates", "h2 Training", "h2 Evaluation", "h2 Sample", "h2 Lineage", "h2 This run"]));
    expect(page.headingJumps).toEqual([]);
    expect(page.tablesWithoutHeads).toEqual([]);
    expect(page.picturesWithoutWords).toEqual([]);
    expect(page.brokenLinks).toEqual([]);
    expect(page.doubleIds).toEqual([]);
  });

  it("shows the numbers of the artifacts", async () => {
    const artifacts = await write();
    const { html } = await reportOf(artifacts);
    const page = pageOf(html);
    const shown = new Set(page.attributes("data", "value").map(Number));
    const { documents, dedup, tokens, train, baselines, evaluate } = artifacts;
    const numbers = [documents, dedup, tokens].flatMap(({ result }) => numbersIn(result));
    for (const number of [...numbers, ...numbersIn(train.result), evaluate.result?.bitsPerByte, evaluate.result?.validationLoss]) expect(shown).toContain(number);
    for (const { bitsPerByte } of baselines.result?.baselines ?? []) expect(shown).toContain(bitsPerByte);
    for (const { fingerprint, record } of Object.values(artifacts)) {
      expect(page.text("code")).toContain(fingerprint);
      expect(page.text("code")).toContain(record.digest);
    }
    expect(page.whole).toContain("1.698 bits per byte; the best baseline, byte 5-gram, needs 1.870");
    expect(page.whole).toContain("ada on engine");
    expect(page.whole).toContain("first-lm --set train.steps=60");
  });

  it.each<[string, (artifacts: Required<ReportArtifacts>) => ReportArtifacts, string[]]>([
    ["only a sample", ({ sample }) => ({ sample }), ["Sample", "Lineage", "This run"]],
    ["tokens and no dedup", ({ documents, tokens }) => ({ documents, tokens }), ["From documents to tokens", "Lineage", "This run"]],
    ["baselines and no model", ({ baselines }) => ({ baselines }), ["Evaluation", "Lineage", "This run"]],
    ["a step of another kind", ({ tokenizer }) => ({ other: { ...tokenizer, step: "other" } }), ["Lineage", "This run"]],
    ["nothing", () => ({}), ["Lineage", "This run"]],
  ])("leaves out what there is no artifact of: %s", async (_what, choose, sections) => {
    const { html } = await reportOf(choose(await write()));
    const page = pageOf(html);
    expect(page.errors).toEqual([]);
    expect(page.headings.filter((heading) => heading.startsWith("h2")).map((heading) => heading.slice(3))).toEqual(sections);
    expect(page.whole).not.toMatch(/undefined|NaN|Infinity|\[object/);
  });

  it("holds documents and samples as text, whatever is in them", async () => {
    const hostile = `<script>alert(1)</script><img src=x onerror=alert(2)></style></title>--><!--&lt;&amp; "quoted' \u0000\u0007\u001b[31m\u009b \uFFFE \uD800 \u202Eright-to-left\u2066 עברית العربية\n\tline ${"x".repeat(50_000)}`;
    const example: DuplicateExample = { reason: "near", similarity: 0.71, keptId: "k<b>", keptSource: `s<i>${hostile}`, keptText: hostile, removedId: "r", removedSource: "</h4>", removedText: `${hostile.slice(0, 300)} <b>other</b>` };
    const { html } = await reportOf(await write({ examples: [example], prompt: hostile, continuation: hostile, source: hostile, host: "<b>host</b>" }), "<h1>title</h1>");
    const page = pageOf(html);
    expect(page.errors).toEqual([]);
    expect(page.outside).toEqual([]);
    expect(page.doubleIds).toEqual([]);
    // eslint-disable-next-line no-control-regex -- that none is left is what is tested
    expect(html).not.toMatch(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u202a-\u202e\u2066-\u2069]/);
    expect(page.headings[0]).toBe("h1 <h1>title</h1>");
    const sample = page.text("blockquote").at(-1) ?? "";
    expect(sample).toContain(String.raw`<script>alert(1)</script><img src=x onerror=alert(2)></style></title>--><!--&lt;&amp; "quoted' \u0000\u0007\u001b[31m\u009b ${"\uFFFD \uFFFD"} \u202eright-to-left\u2066 עברית العربية`);
    expect(sample).toContain(`\n\tline ${"x".repeat(50_000)}`);
  });

  it.each([
    ["The same words begin both of them.", "The same words begin both of them.", "The beginnings are equal"],
    ["A tale begins here with words of its own before it comes to what both tell.", "Quite another opening stood first, unlike that one, in this volume.", "The beginnings differ: what the texts have in common stands further on."],
    ["The same words begin both of them.", "The same words begin each of them.", undefined],
  ])("says what the beginnings of near copies do not show: %j, %j", async (keptText, removedText, expected) => {
    const example: DuplicateExample = { reason: "near", similarity: 0.4, keptId: "k", keptSource: "a", keptText, removedId: "r", removedSource: "b", removedText };
    const { whole } = pageOf((await reportOf(await write({ examples: [example] }))).html);
    if (expected === undefined) expect(whole).not.toMatch(/The beginnings (are equal|differ)/);
    else expect(whole).toContain(expected);
  });

  it("tells which evaluations were found: the numbers of the step that looked for them, and the items as text", async () => {
    const { documents } = await write();
    const counts = (count: number, bytes: number) => ({ documents: count, bytes });
    const result = (more: object, mostLeaked: readonly object[]) => ({ ...counts(1451, 18_000_001), contaminated: counts(47, 512_339), touched: counts(13, 1), evaluations: { items: 2041, leaked: 29, tooShort: 3, ngrams: 88_017, mostLeaked, ...more } });
    const pageWith = async (facts: object, title: string) => {
      const artifact = { ...documents, step: "decontaminate", result: facts } as unknown as NonNullable<ReportArtifacts["decontaminate"]>;
      return reportOf({ documents, decontaminate: artifact }, title);
    };
    const { report, html } = await pageWith(result({ common: { ngrams: 613, items: 7 } }, [{ id: "arc/<b>test</b>.jsonl#q7", documents: 31 }]), "found");
    const page = pageOf(html);
    expect(page.errors).toEqual([]);
    expect(page.headings).toContain("h2 Evaluations in the documents");
    expect(page.tablesWithoutHeads).toEqual([]);
    expect(page.attributes("data", "value").map(Number)).toEqual(expect.arrayContaining([2041, 29, 47, 13, 613, 7, 31]));
    expect(page.whole).toContain("arc/<b>test</b>.jsonl#q7");
    expect(report.contamination).toMatchObject({ items: 2041, leaked: 29, common: { ngrams: 613, items: 7 } });
    expect(report.funnel?.stages.map(({ name, documents: count, leftOut }) => [name, count, leftOut.map(({ reason }) => reason)])).toEqual([["read", 1512, ["too short"]], ["collected", 1498, ["in an evaluation"]], ["decontaminated", 1451, []]]);
    const { whole } = pageOf((await pageWith(result({}, []), "none")).html);
    expect(whole).toContain("No document gave away an item.");
    expect(whole).not.toMatch(/too common|undefined|NaN/);
  });

  it("tells many line ends in a row instead of showing them", async () => {
    const { html } = await reportOf(await write({ continuation: "a\n\nb\n \n\n\nc" }));
    expect(pageOf(html).text("blockquote").at(-1)).toBe("The people ofa\n\nb\n(4 line ends)\nc");
  });

  it("is told nothing by run records that are damaged or gone", async () => {
    const artifacts = await write();
    await writeFile(join(artifacts.train.directory, "metrics.jsonl"), 'null\n[]\n{"step":1}\n{"ste');
    const damaged = await reportOf(artifacts);
    await rm(join(artifacts.train.directory, "metrics.jsonl"));
    const gone = await reportOf(artifacts);
    expect(damaged.html).not.toContain("Throughput");
    expect(gone.html).not.toContain("Throughput");
    expect(JSON.stringify(gone.report)).toBe(JSON.stringify((await reportOf(artifacts)).report));
  });

  it("keeps enough contrast between text and its ground, light, dark and on paper", async () => {
    const { html } = await reportOf({});
    const schemes = [...html.matchAll(/:root \{([^}]*)\}/g)].map(([, rules = ""]) => new Map([...rules.matchAll(/--([a-z-]+): (#[0-9a-f]{3,6})/g)].map(([, name = "", colour = ""]) => [name, colour])));
    expect(schemes).toHaveLength(3);
    for (const colours of schemes) {
      const contrast = (a: string, b: string): number => contrastOf(colours.get(a) ?? "", colours.get(b) ?? "");
      for (const [ink, ground] of [["ink", "page"], ["ink", "raised"], ["ink", "mark"], ["quiet", "page"], ["quiet", "raised"], ["accent", "page"], ["accent", "raised"], ["second-text", "page"]] as const) {
        expect(contrast(ink, ground), `${ink} on ${ground}`).toBeGreaterThanOrEqual(4.5);
      }
      for (const [line, ground] of [["accent", "page"], ["second", "page"], ["lost", "raised"]] as const) expect(contrast(line, ground), `${line} on ${ground}`).toBeGreaterThanOrEqual(2.5);
    }
  });
});

function numbersIn(value: unknown): number[] {
  if (typeof value === "number") return [value];
  if (typeof value !== "object" || value === null) return [];
  // Of these the sum is shown.
  return Object.entries(value).flatMap(([key, field]) => (key === "tooShortBytes" ? [] : numbersIn(field)));
}

/** Contrast ratio as WCAG 2 defines it. */
function contrastOf(a: string, b: string): number {
  const luminance = (colour: string): number => {
    const digits = colour.length === 4 ? [...colour.slice(1)].map((digit) => digit + digit) : (colour.slice(1).match(/../g) ?? []);
    const [red = 0, green = 0, blue = 0] = digits.map((pair) => parseInt(pair, 16) / 255).map((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark = 0, light = 0] = [luminance(a), luminance(b)].sort((x, y) => x - y);
  return (light + 0.05) / (dark + 0.05);
}
