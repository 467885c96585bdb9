export {
  type DirectoryLock,
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
  fileError,
  formatBytes,
  formatDuration,
  isMarinError,
  lockDirectory,
  parseBytes,
  parseDuration,
  publishDirectory,
  readJson,
  removeDeadTemporaries,
  sha256File,
  silentLogger,
  writeDirectoryAtomic,
  writeFileAtomic,
} from "./platform.js";
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
export { defineExtension, provide, type ExtensionKey, type ProvidedExtension } from "./runtime/extensions.js";
export { shardingExtension, type ShardingProvider, type SliceTopology } from "./runtime/sharding.js";
