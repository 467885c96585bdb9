import type { Counts, ReportArtifacts } from "./inputs.js";
import type { Funnel, FunnelStage, LeftOut } from "./report.js";

/** Follows the documents through the steps that are there. Undefined where none of them is. */
export function makeFunnel(artifacts: ReportArtifacts): Funnel | undefined {
  const documents = artifacts.documents?.result;
  const clean = artifacts.decontaminate?.result;
  const dedup = artifacts.dedup?.result;
  const tokens = artifacts.tokens?.result;
  const split = dedup ?? tokens;
  if (documents === undefined && clean === undefined && split === undefined) return undefined;
  const sources = Object.entries(documents?.sources ?? {}).map(([name, counts]) => ({ name, ...counts }));
  const stages: FunnelStage[] = [];
  if (sources.length > 0) {
    const bytes = sources.reduce<number | undefined>((total, { tooShortBytes }) => (total === undefined || tooShortBytes === undefined ? undefined : total + tooShortBytes), 0);
    const tooShort = { documents: sum(sources, "tooShort"), bytes };
    const unreadable = { documents: sources.reduce((total, source) => total + (source.unreadable ?? 0), 0), bytes: undefined };
    stages.push({
      name: "read",
      documents: sum(sources, "read") + unreadable.documents,
      bytes: bytes === undefined ? undefined : sum(sources, "bytes") + bytes,
      leftOut: [...leftOut("unreadable", unreadable), ...leftOut("too short", tooShort)],
    });
  }
  const unique = dedup && add(dedup.kept, dedup.removed.near);
  const exact = leftOut("exact duplicate", dedup?.removed.exact);
  const collected = documents ?? (clean && add(clean, clean.contaminated)) ?? (dedup && unique && add(unique, dedup.removed.exact));
  if (collected) stages.push({ name: "collected", ...countsOf(collected), leftOut: clean === undefined ? exact : leftOut("in an evaluation", clean.contaminated) });
  if (clean) stages.push({ name: "decontaminated", ...countsOf(clean), leftOut: exact });
  if (dedup && unique) {
    stages.push({ name: "unique", ...unique, leftOut: leftOut("near-duplicate", dedup.removed.near) });
    stages.push({ name: "kept", ...countsOf(dedup.kept), leftOut: [] });
  }
  const parts = ([["training", "train"], ["validation", "validation"]] as const).flatMap(([name, key]) =>
    split === undefined ? [] : [{ name, ...countsOf(split[key]), ...(tokens === undefined ? {} : { tokens: tokens[key].tokens }) }],
  );
  return { sources, stages, parts };
}

function sum<Key extends string>(records: readonly Readonly<Record<Key, number>>[], key: Key): number {
  return records.reduce((total, record) => total + record[key], 0);
}

function add(a: Counts, b: Counts): Counts {
  return { documents: a.documents + b.documents, bytes: a.bytes + b.bytes };
}

function countsOf({ documents, bytes }: Counts): Counts {
  return { documents, bytes };
}

function leftOut(reason: LeftOut["reason"], counts: { readonly documents: number; readonly bytes: number | undefined } | undefined): LeftOut[] {
  return counts === undefined || counts.documents === 0 ? [] : [{ reason, documents: counts.documents, bytes: counts.bytes }];
}
