import type { Artifact } from "./artifact.js";
import type { ArtifactInput } from "./record.js";

/** One artifact in another's lineage. */
export interface LineageEntry {
  readonly name: string;
  readonly fingerprint: string;
  /** The digest with which it was used; for the artifact asked for, its own. */
  readonly digest: string;
  /**
   * "present": the store holds it; "missing": it was removed since; "changed": the store holds one of this fingerprint that was made
   * again with other content.
   */
  readonly state: "present" | "missing" | "changed";
  /** What it was made from, by role; empty where it is not present. */
  readonly inputs: Readonly<Record<string, ArtifactInput>>;
  /** The artifact, where present. */
  readonly artifact?: Artifact;
}

/** Walks the inputs of an artifact, each once, inputs before what is made from them, the artifact itself last. */
export async function walkLineage(root: Artifact, get: (name: string, fingerprint: string) => Promise<Artifact | undefined>): Promise<LineageEntry[]> {
  const entries: LineageEntry[] = [];
  const seen = new Set<string>();
  const visit = async ({ name, fingerprint, digest }: ArtifactInput): Promise<void> => {
    const key = `${name} ${fingerprint} ${digest}`;
    if (seen.has(key)) return;
    seen.add(key);
    const found = await get(name, fingerprint);
    if (found?.record.digest !== digest) {
      entries.push({ name, fingerprint, digest, state: found === undefined ? "missing" : "changed", inputs: {} });
      return;
    }
    const { inputs } = found.record;
    for (const role of Object.keys(inputs).sort()) await visit(inputs[role] as ArtifactInput);
    entries.push({ name, fingerprint, digest, state: "present", inputs, artifact: found });
  };
  await visit(root.record);
  return entries;
}
