export { murmur3, murmur3Words } from "./hash.js";
export { estimateJaccard, MinHash, type MinHashOptions } from "./minhash.js";
export { cleanText, jaccard, shingles, type ShingleOptions } from "./shingle.js";
