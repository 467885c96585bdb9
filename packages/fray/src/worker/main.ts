/** Where a worker begins, process or thread. Imports little: each module counts towards the start of every worker. */
import { isMainThread, workerData, type MessagePort } from "node:worker_threads";
import { Connection, portTransport, processTransport } from "@marin/ducky";
import { workerConnectionLimits } from "./protocol.js";
import { serveWorker } from "./serve.js";
import { watchParent } from "./watchdog.js";

const options = { peer: "the parent", ...workerConnectionLimits };
const exit = (code: number): void => process.exit(code);
if (isMainThread) {
  const [, parentPid, group] = process.argv.slice(2);
  watchParent(Number(parentPid), group === "group");
  // A terminal's Ctrl-C goes to every process of its group: what it means for workers is the parent's to say.
  process.on("SIGINT", () => undefined);
  serveWorker(new Connection(processTransport(process), options), exit);
} else {
  const { port } = workerData as { readonly port: MessagePort };
  serveWorker(new Connection(portTransport(port), options), exit);
}
