export { startGcsServer, type GcsServer, type GcsServerOptions } from "./gcs-server/server.js";
export type { ServedRequest } from "./testing/loopback.js";
export { startS3Server, type S3Server, type S3ServerOptions } from "./s3-server/server.js";
export type { FaultChooser, ServerFault } from "./testing/faults.js";
