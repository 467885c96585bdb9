import { expect, test } from "vitest";
import { findDuplicates, findDuplicatesAgainst } from "./near-duplicates.js";
import { duplicateReport } from "./report.js";
import { sketchText } from "./sketch.js";

const ishmael = "Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and nothing particular to interest me on shore, I thought I would sail about a little and see the watery part of the world. It is a way I have of driving off the spleen, and regulating the circulation.";
const times = "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of light, it was the season of darkness, it was the spring of hope, it was the winter of despair.";
const documents = [
  { id: "a|1", source: "sea", text: ishmael },
  { id: "a2", source: "sea", text: ishmael.replace("precisely", "exactly") },
  { id: "a3", source: "shore", text: ishmael.replace("the spleen", "the gloom").replace("Ishmael", "Ahab") },
  { id: "b1", source: "shore", text: times },
  { id: "b2", source: "shore", text: times },
  { id: "c", source: "sea", text: "Of all the things that go in threes only one was ever told to me, and that was by a man who had forgotten two of them on his way." },
];
const sketched = documents.map(({ id, text }) => ({ id, sketch: sketchText(text) }));
const options = {
  documents: documents.length,
  nameOf: (index: number): string => documents[index]?.id ?? "",
  textOf: (index: number): string => documents[index]?.text ?? "",
  sourceOf: (index: number): string => documents[index]?.source ?? "",
};

test("a cluster report says what went, from where, for what, and in which words they differ", async () => {
  const report = await duplicateReport(findDuplicates(sketched), options);
  expect(report).toMatchInlineSnapshot(`
    "# Duplicates

    Documents: 6. Kept: 3 (50.0 %). Removed: 3, of which 1 exact and 2 near duplicates, in clusters: 2.
    Pairs of different texts compared: 3; found to be near duplicates: 3.

    > **Look here:** shore loses 66.7 % of its documents.

    ## By source

    | source | documents | exact | near | goes |
    |---|---|---|---|---|
    | sea | 3 | 0 | 1 | 33.3 % |
    | shore | 3 | 1 | 1 | 66.7 % |

    ## Sizes of clusters

    | documents that go for one | clusters | documents |
    |---|---|---|
    | 1 to 3 | 2 | 3 |

    ## Largest clusters

    ### a\\|1

    Removed for it: 2, of similarity 0.81 to 0.90.

    > Call me Ishmael. Some years ago, never mind how long precisely, having little or no money in my purse, and nothing particular to interest me on shore, I thought I would sail about a little and see the …

    * a3 (near, 0.81): Call me ~~Ishmael.~~ **Ahab.** Some years ago, never mind … have of driving off the ~~spleen,~~ **gloom,** and regulating the circulation.
    * a2 (near, 0.90): … ago, never mind how long ~~precisely,~~ **exactly,** having little or no money …

    ### b1

    Removed for it: 1, of similarity 1.00.

    > It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness, it was the epoch of belief, it was the epoch of incredulity, it was the season of light, i …

    * b2 (exact, 1.00)

    ## Least alike of those that go

    * for a\\|1: a3 (near, 0.81): Call me ~~Ishmael.~~ **Ahab.** Some years ago, never mind … have of driving off the ~~spleen,~~ **gloom,** and regulating the circulation.
    * for a\\|1: a2 (near, 0.90): … ago, never mind how long ~~precisely,~~ **exactly,** having little or no money …
    "
  `);
});

test("without texts and sources it has the names; of none it says none", async () => {
  const report = await duplicateReport(findDuplicates(sketched), { documents: documents.length, nameOf: options.nameOf });
  expect(report).toContain("### a\\|1");
  expect(report).not.toContain("By source");
  expect(await duplicateReport(findDuplicates([]), { documents: 0, nameOf: options.nameOf })).toMatchInlineSnapshot(`
    "# Duplicates

    Documents: 0. Kept: 0 (0 %). Removed: 0, of which 0 exact and 0 near duplicates, in clusters: 0.
    Pairs of different texts compared: 0; found to be near duplicates: 0.
    "
  `);
});

test("a source that loses most of its documents, and a cluster of much of the collection, are pointed out", async () => {
  const copies = Array.from({ length: 150 }, (_, index) => ({ id: String(index).padStart(3, "0"), sketch: sketchText(ishmael) }));
  const report = await duplicateReport(findDuplicates(copies), { documents: 150, nameOf: String, sourceOf: () => "web" });
  expect(report).toContain("> **Look here:** web loses 99.3 % of its documents.");
  expect(report).toContain("> **Look here:** 149 documents (99.3 % of all) go for 0.");
});

test("where none stays the cluster is told once; references are named as such", async () => {
  const none = await duplicateReport(findDuplicates(sketched, { keep: "none" }), options);
  expect(none).toContain("Kept: 1 (16.7 %). Removed: 5,");
  expect(none.match(/^### /gmu)).toHaveLength(2);
  const found = findDuplicatesAgainst(sketched.slice(1, 3), sketched.slice(0, 1));
  const against = await duplicateReport(found, { documents: 2, nameOf: (index) => `new ${String(index)}`, reference: { nameOf: (index) => `known ${String(index)}` } });
  expect(against).toContain("### known 0");
  expect(against).toContain("* new 0 (near,");
});

test("counts that cannot be are refused", async () => {
  const found = findDuplicates(sketched);
  await expect(duplicateReport(found, { ...options, documents: 1 })).rejects.toThrow(/3 go, found 1/);
  await expect(duplicateReport(found, { ...options, examples: -1 })).rejects.toThrow(/examples is a whole number/);
});
