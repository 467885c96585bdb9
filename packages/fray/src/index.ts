export { createActor, type ActorHandle, type ActorOptions } from "./actor.js";
export { accompanyWorkers, type Companion, type NewWorker } from "./companions.js";
export { entry, loadEntry, type Entry } from "./entry.js";
export { FrayWorker, type FrayWorkerOptions } from "./fray-worker.js";
export { Future, type FutureOptions, type FutureState } from "./future.js";
export { mapPool, type PoolOptions, type PoolTask } from "./map-pool.js";
export { currentCall, parentConnection, type CurrentCall } from "./shared.js";
export { WorkerPool, type PoolMember, type PoolWorker, type WorkerMapOptions, type WorkerPoolOptions } from "./worker-pool.js";
export type { WorkerExit } from "./worker/start.js";
