export { Future, type FutureOptions, type FutureState } from "./future.js";
export { mapPool, type PoolOptions, type PoolTask } from "./map-pool.js";
