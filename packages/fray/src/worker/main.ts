/** Where a worker begins, process or thread. Imports little: each module counts towards the start of every worker. */
import { isMainThread, workerData, type MessagePort } from "node:worker_threads";
import { Connection, portTransport, processTransport } from "@marin/ducky";
import { workerConnectionLimits } from "./protocol.js";
import { serveWorker } from "./serve.js";
import { killGroup, watchParent } from "./watchdog.js";

const options = { peer: "the parent", ...workerConnectionLimits };
if (isMainThread) {
  const [, parent, group] = process.argv.slice(2);
  const parentPid = Number(parent);
  const leadsGroup = group === "group";
  watchParent(parentPid, leadsGroup);
  // Without a parent nobody else ends the children that functions have started. A parent that was killed closes its end of the connection a moment before it is gone.
  const exit = (code: number): void => {
    if (leadsGroup && code !== 0) killGroup();
    process.exit(code);
  };
  process.on("exit", () => {
    if (leadsGroup && process.ppid !== parentPid) killGroup();
  });
  // A terminal's Ctrl-C goes to every process of its group: what it means for workers is the parent's to say.
  process.on("SIGINT", () => undefined);
  serveWorker(new Connection(processTransport(process), options), exit);
} else {
  const { port } = workerData as { readonly port: MessagePort };
  serveWorker(new Connection(portTransport(port), options), (code) => process.exit(code));
}
