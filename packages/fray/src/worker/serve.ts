import { errorFromWire, MarinError, type Connection } from "@marin/ducky";
import { describeEntry, loadEntry } from "../entry.js";
import { shared } from "../shared.js";
import { fromPayload, toPayload } from "./payload.js";
import { workerService } from "./protocol.js";

/** How long functions may take to end once the parent is gone. */
const orphanGraceMs = 2_000;

/**
 * Serves `fray.worker` over the connection to the parent, and ends this worker when the connection ends.
 *
 * @param connection - to the parent
 * @param exit - ends this process or thread
 */
export function serveWorker(connection: Connection, exit: (code: number) => void): void {
  const running = new Map<number, AbortController>();
  let stopping = false;
  let idle: () => void = () => undefined;
  const stopAll = (reason: Error): Promise<void> => {
    for (const controller of running.values()) controller.abort(reason);
    return running.size === 0 ? Promise.resolve() : new Promise((resolve) => (idle = resolve));
  };
  shared.parent = connection;
  connection.serve(workerService, {
    hello: () => ({}),
    run: async ({ call, module, export: name, args }) => {
      if (stopping) throw new MarinError("FRAY_WORKER_STOPPED", "The worker is being stopped and takes no more calls.");
      const named = { module, export: name };
      const controller = new AbortController();
      running.set(call, controller);
      try {
        return await shared.calls.run({ signal: controller.signal }, async () => {
          const work = await loadEntry(named);
          controller.signal.throwIfAborted();
          return { value: toPayload(await work(...(fromPayload(args) as unknown[])), `The result of ${describeEntry(named)}`) };
        });
      } finally {
        running.delete(call);
        if (running.size === 0) idle();
      }
    },
    abort: ({ call, reason }) => {
      running.get(call)?.abort(errorFromWire(reason));
      return {};
    },
    stop: async () => {
      stopping = true;
      await stopAll(new MarinError("FRAY_WORKER_STOPPED", "The worker is being stopped."));
      return {};
    },
  });
  void connection.closed.then(async () => {
    const timer = setTimeout(exit, orphanGraceMs, 1);
    await stopAll(new MarinError("FRAY_PARENT_GONE", "Whoever started this worker is gone."));
    clearTimeout(timer);
    exit(stopping ? 0 : 1);
  });
}
