export { MarinError, isMarinError, type MarinErrorOptions } from "@marin/ducky";
export { formatBytes, parseBytes } from "./bytes.js";
export { formatDuration, parseDuration } from "./duration.js";
export { loadConfig, type ConfigSource, type ConfigSources, type LoadedConfig } from "./config/load.js";
export { secretReference } from "./config/secret-reference.js";
export { escapeControls } from "./escape.js";
export { backgroundClock, ManualClock, systemClock, type Clock } from "./time/clock.js";
export { Deadline } from "./time/deadline.js";
export { seededRandom } from "./time/random.js";
export { backoff, retry, type BackoffOptions, type RetryOptions } from "./time/retry.js";
export { RateLimiter, TokenBucket, type TokenBucketOptions } from "./time/token-bucket.js";
export { createLogger, logLevels, silentLogger, type LogFields, type LogLevel, type Logger, type LoggerOptions } from "./log.js";
export {
  createMetrics,
  type Counter,
  type Gauge,
  type Histogram,
  type HistogramOptions,
  type HistogramSeries,
  type Labels,
  type MetricOptions,
  type MetricSnapshot,
  type Metrics,
  type MetricsServer,
  type MetricsServerOptions,
} from "./metrics.js";
export { startTelemetry, type Telemetry, type TelemetryOptions, type TelemetryStats } from "./telemetry/start.js";
export { currentTraceparent, withSpan, type Span, type SpanAttributes, type SpanOptions } from "./telemetry/trace.js";
export type { LossReason } from "./telemetry/delivery.js";
export type { CollectorOptions } from "./telemetry/http-send.js";
export { Secret, SecretStore, type SecretStoreOptions } from "./secrets.js";
export type { GcpSecretOptions } from "./secrets/gcp-secret.js";
export { toPlain, type Plain } from "./redaction/plain.js";
export { Redactor, redactor } from "./redaction/redactor.js";
export { fileError, type FileOperation } from "./files/file-error.js";
export { makeDirectory, makeDirectorySync, type MakeDirectoryOptions } from "./files/make-directory.js";
export { readJson, sha256File } from "./files/read.js";
export { removeDeadTemporaries, removeOwnTemporaries } from "./files/temporary.js";
export { makeTemporaryDirectory, type TemporaryDirectory } from "./files/temporary-directory.js";
export { publishDirectory, writeDirectoryAtomic, writeFileAtomic } from "./files/write-atomic.js";
export { lockDirectory, lockFileName, type DirectoryLock, type DirectoryLockOptions } from "./locks.js";
export { ownIdentity, processIdentitySchema, type ProcessIdentity } from "./process-identity.js";
export { createStorage, openStorage, type CreateStorageOptions } from "./storage/create.js";
export type { GcsOptions } from "./storage/gcs.js";
export type { HfOptions } from "./storage/hf.js";
export type { HttpOptions } from "./storage/http.js";
export type { MirrorOptions } from "./storage/mirror.js";
export type { S3Options } from "./storage/s3.js";
export { readFenced, writeFenced, type FencedContent } from "./leases/fenced.js";
export { acquireLease, withLease, type Lease, type LeaseOptions } from "./leases/lease.js";
export { expandGlob } from "./storage/glob.js";
export { StoragePath } from "./storage/path.js";
export { registerStorage } from "./storage/registry.js";
export type {
  DirectoryEntry,
  ReadOptions,
  Storage,
  StorageDriver,
  StorageEntry,
  StorageStat,
  VersionedContent,
  WalkedDirectory,
  WriteIfOptions,
  WriteOptions,
} from "./storage/storage.js";
export { chargeTransfer, processTransferBudget, TransferBudget, withTransferBudget, type TransferBudgetOptions } from "./storage/transfer-budget.js";
export { type Access, scopeCovers } from "./auth/access.js";
export { authRequest, type AuthRequest, type AuthResult, type Authenticator, type Principal } from "./auth/authenticator.js";
export { accessTable, authChain, type AccessTable, type AuthChain } from "./auth/chain.js";
export { isLoopback, loopbackTrust } from "./auth/loopback.js";
export { apiKeys, openApiKeys, type ApiKeyRecord, type ApiKeys } from "./auth/api-key.js";
export { googleTokens } from "./auth/google-tokens.js";
export { createTokenSigner, generateSigningKey, signedTokens, type SignedTokensOptions, type SigningKey, type TokenGrant, type TokenRealm, type TokenSigner, type VerifyingKey } from "./auth/signed-token.js";
export { refreshingToken, type RefreshingTokenOptions } from "./auth/refreshing-token.js";
export { staticToken, tokenHeaders, type Token, type TokenProvider } from "./auth/token-provider.js";
