import { basename, dirname } from "node:path";

import { Store, type LineageEntry } from "@marin/finestore";
import { MarinError } from "@marin/rigging";

import type { Artifact } from "../step.js";

/** An artifact with the name that the experiment gives its step. */
export interface NamedLineageEntry extends LineageEntry {
  /** Name of the step in the experiment; of its kind where the experiment did not say. */
  readonly step: string;
}

/**
 * The artifacts given and everything they were made from, each once, inputs before what is made from them.
 *
 * @throws MarinError `MARIN_REPORT_INPUT` when an artifact does not lie in a store; finestore's errors
 */
export async function collectLineage(artifacts: readonly Artifact<unknown>[]): Promise<NamedLineageEntry[]> {
  const names = new Map(artifacts.map(({ fingerprint, step }) => [fingerprint, step]));
  const entries = new Map<string, NamedLineageEntry>();
  for (const { step, directory, fingerprint } of artifacts) {
    // <store>/<kind>/<fingerprint>, as finestore lays it out.
    const kind = dirname(directory);
    const store = await Store.openExisting(dirname(kind));
    if (store === undefined) {
      throw new MarinError("MARIN_REPORT_INPUT", `The artifact of step ${step} must lie in a store, to be asked for its lineage; found ${directory}.`, { data: { step, directory } });
    }
    for (const entry of await store.lineage(basename(kind), fingerprint)) {
      const key = `${entry.name} ${entry.fingerprint} ${entry.digest}`;
      if (!entries.has(key)) entries.set(key, { ...entry, step: names.get(entry.fingerprint) ?? entry.name });
    }
  }
  return [...entries.values()];
}
