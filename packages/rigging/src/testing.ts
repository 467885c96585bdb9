export { startGcsServer, type GcsServer, type GcsServerOptions, type ServedRequest } from "./gcs-server/server.js";
export type { FaultChooser, ServerFault } from "./testing/faults.js";
