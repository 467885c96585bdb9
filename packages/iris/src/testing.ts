// What tests of levanter and zephyr may use of the packages below iris, name by name.
export { startGcsServer, startS3Server, type FaultChooser, type GcsServer, type GcsServerOptions, type S3Server, type S3ServerOptions, type ServerFault } from "@marin/rigging/testing";
// A cluster's decisions without a cluster: what the scheduler would do with these workers, jobs and attempts.
export { schedule } from "./scheduling/scheduler.js";
export type { PlacedAttempt, Place, Reservation, Schedule, SchedulingSnapshot, SchedulingWorker, WaitingJob } from "./scheduling/snapshot.js";
// A controller without a cluster: what becomes of jobs, with workers that run nothing.
export { continueStore, submission, type SimulatedController } from "./testing/simulated-controller.js";
export { SimulatedWorker, ended, succeeds, type Script } from "./testing/simulated-worker.js";
