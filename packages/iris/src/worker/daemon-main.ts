/** Where a worker's process begins. */
import { randomBytes } from "node:crypto";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { Connection, listenWebSocket } from "@marin/ducky";
import { inheritChaos } from "../chaos/chaos.js";
import { isMarinError, lockDirectory, writeFileAtomic } from "../platform.js";
import { addressFile, daemonSettingsSchema } from "./daemon.js";
import { WorkerProcess } from "./worker-process.js";

inheritChaos();
const settings = daemonSettingsSchema.parse(JSON.parse(process.argv[2] ?? ""));
const lock = await lockDirectory(settings.directory).catch((error: unknown) => {
  // Another one was faster: whoever started this one finds that one.
  if (isMarinError(error, "RIGGING_LOCKED")) process.exit(0);
  throw error;
});
const worker = await WorkerProcess.start(settings);
const token = randomBytes(32).toString("base64url");
const server = await listenWebSocket({ token, onConnection: (transport) => worker.serve(new Connection(transport, { peer: "the controller" })) });
const address = join(settings.directory, addressFile);
await writeFileAtomic(address, JSON.stringify({ url: server.url, token, pid: process.pid }), { mode: 0o600 });
process.on("SIGTERM", () => void worker.close());
// A terminal's Ctrl-C is for the programs in it; jobs go on.
process.on("SIGINT", () => undefined);
await worker.closed;
await rm(address, { force: true });
await server.close();
await lock.release();
process.exit(0);
