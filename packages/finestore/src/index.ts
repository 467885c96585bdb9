export type { Artifact, ArtifactDescription } from "./artifact.js";
export { canonicalJson, fingerprint, type FingerprintParts } from "./fingerprint.js";
export type { LineageEntry } from "./lineage.js";
export { describeRun, redactArguments, redactFields, type Provenance, type RunProvenance } from "./provenance.js";
export type { ArtifactFile, ArtifactInput, ArtifactRecord } from "./record.js";
export { Store, type ProductionStart, type StoreEntry } from "./store.js";
