export { integerBelow, normal, truncatedNormal, uniform } from "./rng/distributions.js";
export { permute } from "./rng/permute.js";
export { RandomKey } from "./rng/random-key.js";
export { TokenBatches, type TokenBatchesOptions } from "./data/token-batches.js";
export type { Batch } from "./data/batch.js";
export type { TokenLedger } from "./data/token-ledger.js";
export { TokenStoreWriter, type TokenStoreOptions } from "./data/token-store-writer.js";
export { TokenStore } from "./data/token-store.js";
