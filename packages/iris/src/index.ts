export {
  type BackoffOptions,
  Deadline,
  type RetryOptions,
  type Span,
  type SpanAttributes,
  type SpanOptions,
  retry,
  withSpan,
  type DirectoryLock,
  type Entry,
  type FileOperation,
  type LogFields,
  type LogLevel,
  type Logger,
  type LoggerOptions,
  MarinError,
  type MarinErrorOptions,
  Secret,
  SecretStore,
  type SecretStoreOptions,
  createLogger,
  entry,
  fileError,
  formatBytes,
  formatDuration,
  isMarinError,
  loadEntry,
  lockDirectory,
  makeTemporaryDirectory,
  type TemporaryDirectory,
  parseBytes,
  parseDuration,
  publishDirectory,
  readJson,
  removeDeadTemporaries,
  removeOwnTemporaries,
  sha256File,
  silentLogger,
  writeDirectoryAtomic,
  writeFileAtomic,
  type GcsOptions,
  type FencedContent,
  type Lease,
  type LeaseOptions,
  acquireLease,
  readFenced,
  withLease,
  writeFenced,
  type HfOptions,
  type HttpOptions,
  type MirrorOptions,
  type ReadOptions,
  type S3Options,
  type DirectoryEntry,
  type Storage,
  type StorageDriver,
  type StorageEntry,
  StoragePath,
  type StorageStat,
  TransferBudget,
  type TransferBudgetOptions,
  type VersionedContent,
  type WalkedDirectory,
  type WriteIfOptions,
  type WriteOptions,
  chargeTransfer,
  createStorage,
  expandGlob,
  openStorage,
  registerStorage,
  type CreateStorageOptions,
} from "./platform.js";
export { IrisClient, type LocalClientOptions, type SubmitOptions } from "./client/client.js";
export type { JobFilter, JobSummary, OnExisting, UserStatus, WorkerStatus } from "./client/iris-api.js";
export type { Job, LogOptions, WaitOptions } from "./client/job.js";
export { Iris, type IrisConnectOptions, type IrisOpenOptions } from "./iris.js";
export type { Limits } from "./controller/admission.js";
export type { OwnWorker } from "./controller/open.js";
export { JobScheduler, type JobPlan, type JobSchedulerOptions } from "./job-scheduler.js";
export type { Band, CheckedJobSpec, Device, JobSpec, Resources, Submittable } from "./jobs/job-spec.js";
export type { Cause, Dimension, PendingReason, Shortage } from "./jobs/model.js";
export type { AttributeValue, Constraint } from "./scheduling/constraints.js";
export type { AttemptStatus, JobEvent, JobResult, JobState, JobStatus, LogLine, TaskStatus } from "./jobs/job-status.js";
export {
  getIrisCtx,
  irisCtx,
  type IrisContext,
  type MetricValues,
  type MetricsReporter,
  type TaskProgress,
} from "./runtime/context.js";
export { type EndpointHandle, type Registry } from "./runtime/endpoints.js";
export { withLocalContext, type LocalContextOptions } from "./runtime/local-context.js";
export { initializeIrisTf, type IrisTfOptions, type IrisTfRuntime, type TfDevice, type TfEnginePort } from "./runtime/tf-init.js";
export { openWorkerPool, type PoolMapOptions, type TaskPool, type WorkerPoolOptions } from "./runtime/worker-pool.js";
export { defineExtension, provide, type ExtensionKey, type ProvidedExtension } from "./runtime/extensions.js";
export { shardingExtension, type ShardingProvider, type SliceTopology } from "./runtime/sharding.js";
export { remoteWorker, serveWorkerLink, type WorkerLink } from "./worker/link.js";
export type { AttemptOrder, AttemptOutcome, DesiredAttempt, ExecEvent, ExecRequest, Observed, ObservedAttempt, ReconcileRequest, Report, WorkerInfo } from "./worker/protocol.js";
export { chaos, type ChaosOptions, type ChaosPoint } from "./chaos/chaos.js";
export type { ClusterBackend, ClusterCallOptions, ClusterLine, ClusterLines, ClusterSubmission, ClusterTask } from "./backends/backend.js";
export { clusterConformance, type ConformanceCase } from "./backends/conformance.js";
