export { integerBelow, normal, truncatedNormal, uniform } from "./rng/distributions.js";
export { permute } from "./rng/permute.js";
export { RandomKey } from "./rng/random-key.js";
