import type { Duplicates, RemovedDocument } from "./duplicates.js";
import { excerpt, wordChanges } from "./word-changes.js";

/** Names and texts of the documents of a {@link duplicateReport}, by their index. */
export interface ReportedDocuments {
  /** A document's name: an id, a path, a title. */
  readonly nameOf: (index: number) => string;
  /** A document's text, for the examples. Without it names alone are shown. */
  readonly textOf?: ((index: number) => string | Promise<string>) | undefined;
  /** The source of a document; the report counts by source, and warns where one loses most of what it had. */
  readonly sourceOf?: ((index: number) => string) | undefined;
}

/** Settings of {@link duplicateReport}. */
export interface ReportOptions extends ReportedDocuments {
  /** How many documents were looked at. */
  readonly documents: number;
  /** The reference documents, where documents were compared with such: what `duplicateOf` numbers. */
  readonly reference?: ReportedDocuments | undefined;
  /** Clusters and closest pairs that are shown in full. Default 5. */
  readonly examples?: number | undefined;
}

/** Of a cluster, documents that are shown. */
const shownMembers = 3;
/** A source that loses more than this share of its documents, or a cluster with this share of all, is worth a look before it is believed. */
const suspicious = { source: 0.5, cluster: 0.01, documents: 100 };

/**
 * What went and why, for people, as Markdown: the counts, in all and by source; how large the clusters are; the largest ones, and the pairs closest to the line, with the words in
 * which they differ. Sources that lose most of their documents and clusters of much of the collection are pointed out: there a template may have been taken for copies.
 *
 * Texts are read for the examples alone. Equal input gives an equal report.
 *
 * @throws RangeError when `documents` or `examples` is no whole number of at least 0, or fewer than what went
 */
export async function duplicateReport(found: Duplicates, options: ReportOptions): Promise<string> {
  const { documents, examples = 5 } = options;
  for (const [name, value] of Object.entries({ documents, examples })) {
    if (!Number.isSafeInteger(value) || value < 0) throw new RangeError(`${name} is a whole number of at least 0, found ${String(value)}.`);
  }
  if (found.removed.length > documents) throw new RangeError(`documents is how many were looked at; ${String(found.removed.length)} go, found ${String(documents)}.`);
  const clusters = clustersOf(options.reference === undefined ? oneWay(found.removed) : found.removed);
  const warnings = [...sourceWarnings(found.removed, options), ...clusterWarnings(clusters, options)];
  const sections = [summary(found, options), warnings.map((warning) => `> **Look here:** ${warning}`).join("\n>\n"), bySource(found.removed, options), sizes(clusters)];
  if (examples > 0 && found.removed.length > 0) {
    sections.push(await largestClusters(clusters.slice(0, examples), options), await closestPairs(found.removed, examples, options));
  }
  return `${sections.filter((section) => section !== "").join("\n\n")}\n`;
}

interface Cluster {
  /** What the members are duplicates of. */
  readonly duplicateOf: number;
  /** Least similar first. */
  readonly members: readonly RemovedDocument[];
}

/** Where no document of a cluster stays, the one that the others go for goes for one of them: that one is left out, as the cluster's head. */
function oneWay(removed: readonly RemovedDocument[]): RemovedDocument[] {
  const byIndex = new Map(removed.map((document) => [document.index, document]));
  const sizes = new Map<number, number>();
  for (const { duplicateOf } of removed) sizes.set(duplicateOf, (sizes.get(duplicateOf) ?? 0) + 1);
  return removed.filter(({ index, duplicateOf }) => {
    if (byIndex.get(duplicateOf)?.duplicateOf !== index) return true;
    const [own, other] = [sizes.get(index) ?? 0, sizes.get(duplicateOf) ?? 0];
    return own < other || (own === other && index > duplicateOf);
  });
}

/** Largest first. */
function clustersOf(removed: readonly RemovedDocument[]): Cluster[] {
  const members = new Map<number, RemovedDocument[]>();
  for (const document of removed) {
    const group = members.get(document.duplicateOf);
    if (group === undefined) members.set(document.duplicateOf, [document]);
    else group.push(document);
  }
  return Array.from(members, ([duplicateOf, group]) => ({ duplicateOf, members: group.sort((a, b) => a.similarity - b.similarity || a.index - b.index) })).sort(
    (a, b) => b.members.length - a.members.length || a.duplicateOf - b.duplicateOf,
  );
}

function summary({ removed, clusters, candidates, verified }: Duplicates, { documents }: ReportOptions): string {
  const exact = removed.filter(({ reason }) => reason === "exact").length;
  return [
    "# Duplicates",
    "",
    `Documents: ${number(documents)}. Kept: ${number(documents - removed.length)} (${share(documents - removed.length, documents)}). Removed: ${number(removed.length)}, of which ${number(exact)} exact and ${number(removed.length - exact)} near duplicates, in clusters: ${number(clusters)}.`,
    `Pairs of different texts compared: ${number(candidates)}; found to be near duplicates: ${number(verified)}.`,
  ].join("\n");
}

interface SourceCounts {
  documents: number;
  exact: number;
  near: number;
}

function sourceCounts(removed: readonly RemovedDocument[], { documents, sourceOf }: ReportOptions): Map<string, SourceCounts> {
  const counts = new Map<string, SourceCounts>();
  if (sourceOf === undefined) return counts;
  const of = (index: number): SourceCounts => {
    const source = sourceOf(index);
    const known = counts.get(source) ?? { documents: 0, exact: 0, near: 0 };
    counts.set(source, known);
    return known;
  };
  for (let index = 0; index < documents; index += 1) of(index).documents += 1;
  for (const { index, reason } of removed) of(index)[reason] += 1;
  return counts;
}

function bySource(removed: readonly RemovedDocument[], options: ReportOptions): string {
  const rows = Array.from(sourceCounts(removed, options)).sort(([a], [b]) => (a < b ? -1 : 1));
  if (rows.length === 0) return "";
  const lines = rows.map(([source, { documents, exact, near }]) => `| ${cell(source)} | ${number(documents)} | ${number(exact)} | ${number(near)} | ${share(exact + near, documents)} |`);
  return ["## By source", "", "| source | documents | exact | near | goes |", "|---|---|---|---|---|", ...lines].join("\n");
}

function sourceWarnings(removed: readonly RemovedDocument[], options: ReportOptions): string[] {
  return Array.from(sourceCounts(removed, options)).flatMap(([source, { documents, exact, near }]) =>
    exact + near > suspicious.source * documents ? [`${cell(source)} loses ${share(exact + near, documents)} of its documents.`] : [],
  );
}

function clusterWarnings(clusters: readonly Cluster[], { documents, nameOf, reference }: ReportOptions): string[] {
  return clusters.flatMap(({ duplicateOf, members }) =>
    members.length >= Math.max(suspicious.documents, suspicious.cluster * documents)
      ? [`${number(members.length)} documents (${share(members.length, documents)} of all) go for ${cell((reference?.nameOf ?? nameOf)(duplicateOf))}.`]
      : [],
  );
}

function sizes(clusters: readonly Cluster[]): string {
  if (clusters.length === 0) return "";
  const rows: string[] = [];
  for (let least = 1; ; least *= 4) {
    const larger = clusters.filter(({ members }) => members.length >= least);
    if (larger.length === 0) break;
    const within = larger.filter(({ members }) => members.length < least * 4);
    const documents = within.reduce((sum, { members }) => sum + members.length, 0);
    rows.push(`| ${least === 1 ? "1 to 3" : `${number(least)} to ${number(least * 4 - 1)}`} | ${number(within.length)} | ${number(documents)} |`);
  }
  return ["## Sizes of clusters", "", "| documents that go for one | clusters | documents |", "|---|---|---|", ...rows].join("\n");
}

async function largestClusters(clusters: readonly Cluster[], options: ReportOptions): Promise<string> {
  const parts: string[] = ["## Largest clusters"];
  for (const { duplicateOf, members } of clusters) {
    const kept = options.reference ?? options;
    const [least, most] = [members[0]?.similarity ?? 1, members.at(-1)?.similarity ?? 1];
    const range = least === most ? least.toFixed(2) : `${least.toFixed(2)} to ${most.toFixed(2)}`;
    parts.push(`### ${cell(kept.nameOf(duplicateOf))}`, `Removed for it: ${number(members.length)}, of similarity ${range}.`);
    const text = await kept.textOf?.(duplicateOf);
    if (text !== undefined) parts.push(`> ${excerpt(text)}`);
    const shown: string[] = [];
    for (const member of spread(members, shownMembers)) shown.push(`* ${await pairLine(member, options)}`);
    parts.push(shown.join("\n"));
  }
  return parts.join("\n\n");
}

/** The near duplicates that are the least like what they go for: here one sees where the line is drawn. */
async function closestPairs(removed: readonly RemovedDocument[], count: number, options: ReportOptions): Promise<string> {
  const near = removed.filter(({ reason }) => reason === "near").sort((a, b) => a.similarity - b.similarity || a.index - b.index);
  if (near.length === 0) return "";
  const kept = options.reference ?? options;
  const lines: string[] = [];
  for (const pair of near.slice(0, count)) lines.push(`* for ${cell(kept.nameOf(pair.duplicateOf))}: ${await pairLine(pair, options)}`);
  return ["## Least alike of those that go", lines.join("\n")].join("\n\n");
}

async function pairLine({ index, duplicateOf, reason, similarity }: RemovedDocument, options: ReportOptions): Promise<string> {
  const head = `${cell(options.nameOf(index))} (${reason}, ${similarity.toFixed(2)})`;
  const [own, other] = [await options.textOf?.(index), await (options.reference ?? options).textOf?.(duplicateOf)];
  return own === undefined || other === undefined || reason === "exact" ? head : `${head}: ${await wordChanges(other, own)}`;
}

/** So many of the items, from the first to the last. */
function spread<T>(items: readonly T[], count: number): T[] {
  if (items.length <= count) return [...items];
  return Array.from({ length: count }, (_, place) => items[Math.round((place * (items.length - 1)) / (count - 1))] as T);
}

function number(value: number): string {
  return String(value).replace(/\B(?=(?:\d{3})+$)/gu, ",");
}

function share(part: number, whole: number): string {
  return whole === 0 ? "0 %" : `${((100 * part) / whole).toFixed(1)} %`;
}

/** Text that Markdown leaves as it is, also in a table. */
function cell(text: string): string {
  return excerpt(text, 120);
}
