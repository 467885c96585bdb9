export { MarinError, isMarinError, type MarinErrorOptions } from "@marin/ducky";
export { formatBytes, parseBytes } from "./bytes.js";
export { formatDuration, parseDuration } from "./duration.js";
export { createLogger, logLevels, silentLogger, type LogFields, type LogLevel, type Logger, type LoggerOptions } from "./log.js";
export { Secret, SecretStore, type SecretStoreOptions } from "./secrets.js";
export { nearest } from "./suggest.js";
