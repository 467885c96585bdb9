export { BloomFilter, type BloomOptions } from "./bloom.js";
export { murmur3, murmur3Words } from "./hash.js";
export { Lsh, type LshOptions } from "./lsh.js";
export { estimateJaccard, MinHash, type MinHashOptions } from "./minhash.js";
export { findDuplicates, type DuplicateOptions, type Duplicates, type RemovedDocument, type SketchedDocument } from "./near-duplicates.js";
export { cleanText, jaccard, shingles, shingleSequence, type ShingleOptions } from "./shingle.js";
export { contentHash, sketchText, type TextSketch } from "./sketch.js";
