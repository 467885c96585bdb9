export { startGcsServer, type GcsFault, type GcsServer, type GcsServerOptions, type ServedRequest } from "./gcs-server/server.js";
