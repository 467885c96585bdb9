import { expect, test } from "vitest";
import { Texts } from "../test/texts.js";
import type { Duplicates } from "./duplicates.js";
import { type DuplicateOptions, findDuplicates, findDuplicatesAgainst } from "./near-duplicates.js";
import { presets } from "./presets.js";
import { sketchText } from "./sketch.js";

interface Sample {
  readonly id: string;
  readonly text: string;
}

function find(samples: readonly Sample[], options: DuplicateOptions = {}): Duplicates & { readonly kept: readonly string[] } {
  const sketches = samples.map(({ id, text }) => ({ id, sketch: sketchText(text, options.preset === undefined ? {} : { preset: options.preset }) }));
  const found = findDuplicates(sketches, options);
  const gone = new Set(found.removed.map(({ index }) => index));
  return { ...found, kept: samples.filter((_, index) => !gone.has(index)).map(({ id }) => id) };
}

const texts = new Texts(21);
const text = texts.prose(200);
const longer = `${text} ${texts.prose(12)}`;
const cluster = [
  { id: "m", text: texts.replace(text, 0.03) },
  { id: "long", text: longer },
  { id: "k", text: texts.replace(text, 0.03) },
  { id: "b", text: texts.replace(text, 0.03) },
  { id: "single", text: texts.prose(200) },
];

test("Keep policies: the longest, the first, none", () => {
  expect(find(cluster, { keep: "longest" }).kept).toEqual(["long", "single"]);
  expect(find(cluster, { keep: "first" }).kept).toEqual(["m", "single"]);
  expect(find(cluster.toReversed(), { keep: "first" }).kept).toEqual(["single", "b"]);
  const none = find(cluster, { keep: "none" });
  expect(none.kept).toEqual(["single"]);
  expect(none.clusters).toBe(1);
  for (const { index, duplicateOf } of none.removed) expect(index).not.toBe(duplicateOf);
});

test("Keep policies: exact copies follow them too", () => {
  const same = [{ id: "z", text }, { id: "a", text }, { id: "c", text: text.toUpperCase() }];
  expect(find(same, { keep: "first" }).kept).toEqual(["z"]);
  expect(find(same, { keep: "longest" }).kept).toEqual(["a"]);
  expect(find(same, { keep: "none" })).toMatchObject({ kept: [], clusters: 1 });
});

test("Keep policies: under all but the first the order of the documents makes no difference", () => {
  for (const keep of ["central", "longest", "none"] as const) {
    for (const link of ["direct", "transitive"] as const) expect(new Set(find(cluster.toReversed(), { keep, link }).kept)).toEqual(new Set(find(cluster, { keep, link }).kept));
  }
});

test("Connected components: linked transitively a chain is one cluster, linked directly its ends both stay", () => {
  const words = texts.prose(300).split(" ");
  // Each step replaces another eighth of the words; after all of them nothing is left of the first.
  const chain = Array.from({ length: 9 }, (_, step) => ({ id: String(step), text: words.map((word, index) => (index % 8 < step ? `new${String(index)}` : word)).join(" ") }));
  expect(find(chain).kept.length).toBeGreaterThan(1);
  const whole = find([...chain, { id: "other", text: texts.prose(300) }], { link: "transitive" });
  expect(whole.kept.length).toBe(2);
  expect(whole.clusters).toBe(1);
  expect(Math.min(...whole.removed.map(({ similarity }) => similarity))).toBeLessThan(0.35);
});

test("Presets: sketches carry the signature, and another preset's, or none, is refused by name", () => {
  const { marin, fineweb } = presets;
  const copies = [...cluster.slice(1, 2), ...cluster.slice(4), { id: "a", text: texts.replace(longer, 0) }, { id: "c", text: longer.toLowerCase() }];
  for (const preset of Object.values(presets)) expect(find(copies, { preset, keep: "first" }).kept).toEqual(["long", "single"]);
  expect(() => findDuplicates([{ id: "a", sketch: sketchText("a") }], { preset: marin })).toThrow(/"a" has no signature; the preset is "marin"/);
  expect(() => findDuplicates([{ id: "a", sketch: sketchText("a", { preset: marin }) }], { preset: fineweb })).toThrow(/has a signature of the preset "marin"/);
});

test("Verification: without it a preset's candidates go as they are, templates included", () => {
  const preset = presets.fineweb;
  const template = texts.prose(300);
  const forms = Array.from({ length: 60 }, (_, index) => ({ id: String(index), text: `${template} ${texts.prose(20)}` }));
  expect(find(forms, { preset }).removed).toEqual([]);
  expect(find(forms, { preset, verify: false }).removed.length).toBeGreaterThan(40);
  expect(() => find(forms, { verify: false })).toThrow(/Without verification a preset says/);
});

test("Verification: texts without words are alike by their characters alone, with a preset too", () => {
  const preset = presets.fineweb;
  const empty = [{ id: "a", text: "" }, { id: "b", text: "!!" }, { id: "c", text: "?" }, { id: "d", text: "?" }];
  expect(find(empty, { preset }).kept).toEqual(["a", "b", "c"]);
  expect(find(empty, { preset, verify: false }).kept).toEqual(["a", "b", "c"]);
});

test("A against B: only documents of A go, only for ones of B, and A's own duplicates stay", () => {
  const sketched = (samples: readonly Sample[]): { id: string; sketch: ReturnType<typeof sketchText> }[] => samples.map(({ id, text: own }) => ({ id, sketch: sketchText(own) }));
  const [x, y, z] = [texts.prose(200), texts.prose(200), texts.prose(200)];
  const a = [
    { id: "exact", text: x },
    { id: "near", text: texts.replace(y, 0.05) },
    { id: "words", text: x.toUpperCase() },
    { id: "own 1", text: z },
    { id: "own 2", text: z },
    { id: "own 3", text: texts.replace(z, 0.05) },
  ];
  const b = [{ id: "other", text: texts.prose(200) }, { id: "exact", text: x }, { id: "y", text: y }, { id: "y again", text: y }];
  const { removed, clusters } = findDuplicatesAgainst(sketched(a), sketched(b));
  expect(removed.map(({ index, duplicateOf, reason }) => [a[index]?.id, b[duplicateOf]?.id, reason])).toEqual([
    ["exact", "exact", "exact"],
    ["near", "y", "near"],
    ["words", "exact", "near"],
  ]);
  expect(clusters).toBe(2);
  expect(findDuplicatesAgainst(sketched(a), []).removed).toEqual([]);
  expect(findDuplicatesAgainst([], sketched(b)).removed).toEqual([]);
  expect(() => findDuplicatesAgainst(sketched(a), sketched([...b, ...b]))).toThrow(/"exact" occurs twice|occurs twice/);
});

test("A against B: many copies of a reference text go, and templated documents stay", () => {
  const template = texts.prose(300);
  const forms = Array.from({ length: 60 }, (_, index) => ({ id: `form ${String(index)}`, sketch: sketchText(`${template} ${texts.prose(60)}`) }));
  const reference = [...forms.slice(0, 30), { id: "text", sketch: sketchText(text) }];
  const copies = Array.from({ length: 40 }, (_, index) => ({ id: String(index), sketch: sketchText(texts.replace(text, 0.03)) }));
  const { removed } = findDuplicatesAgainst([...forms.slice(30), ...copies], reference);
  expect(removed.map(({ index, duplicateOf }) => [index, duplicateOf])).toEqual(copies.map((_, index) => [30 + index, 30]));
});

test("options that are none are refused", () => {
  // @ts-expect-error -- as a JavaScript user may write it
  expect(() => find([], { keep: "last" })).toThrow(/keep is one of/);
  // @ts-expect-error -- as a JavaScript user may write it
  expect(() => find([], { link: "loose" })).toThrow(/"direct" or "transitive", found "loose"/);
});
