export { canonicalJson, fingerprint, type FingerprintParts } from "./fingerprint.js";
export type { ArtifactFile, ArtifactRecord } from "./record.js";
export { Store, type Artifact, type ArtifactDescription, type ProductionStart } from "./store.js";
