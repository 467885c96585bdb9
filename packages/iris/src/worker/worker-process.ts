import { join } from "node:path";
import type { Connection } from "@marin/ducky";
import type { z } from "zod";
import { BundleCache } from "../bundles/bundle-cache.js";
import { type BundleSource, BundleStore } from "../bundles/bundle-store.js";
import { type CaptureOptions, captureOutputs } from "../outputs/capture.js";
import { openStorage } from "../platform.js";
import type { daemonSettingsSchema } from "./daemon.js";
import { serveWorkerLink } from "./link.js";
import { passingApi } from "./passing-api.js";
import { Worker } from "./worker.js";

/** Where the worker of a controller elsewhere has its bundles from, and brings its outputs. */
export interface WorkerPlaces {
  readonly bundles?: BundleSource;
  readonly outputs?: CaptureOptions["storage"];
}

/** A worker in a process of its own, for controllers that come and go. */
export class WorkerProcess {
  readonly #worker: Worker;
  readonly #connections: Connections;
  readonly #orphanCheck: NodeJS.Timeout;

  private constructor(worker: Worker, connections: Connections, orphanMs: number) {
    this.#worker = worker;
    this.#connections = connections;
    // What nobody has heard yet stays on disk, for the next process of this directory.
    this.#orphanCheck = setInterval(() => {
      if (worker.silentMs > orphanMs && worker.idle) void this.close();
    }, Math.min(1_000, orphanMs));
  }

  /**
   * Starts the worker of a directory, once what an earlier process has left running is gone.
   *
   * @param settings - see the schema
   * @param places - where bundles come from and outputs go to, in place of the storage paths of the settings
   */
  static async start(settings: z.output<typeof daemonSettingsSchema>, places: WorkerPlaces = {}): Promise<WorkerProcess> {
    const { name, directory, capacity, attributes, taints, orphanMs, warm } = settings;
    const connections = new Connections();
    const bundles = places.bundles ?? (settings.bundles === undefined ? undefined : new BundleStore(openStorage(settings.bundles)));
    const cache = bundles === undefined ? undefined : new BundleCache(join(directory, "bundles"), bundles);
    const storage = places.outputs ?? (settings.outputs === undefined ? undefined : openStorage(settings.outputs));
    const worker = new Worker({
      name,
      capacity,
      attributes,
      taints,
      directory,
      orphanMs,
      warm: { ahead: warm },
      api: (attemptUid) => passingApi((signal) => connections.next(signal), attemptUid),
      ...(cache === undefined ? {} : { bundle: (digest, signal) => cache.directory(digest, { signal }) }),
      ...(storage === undefined ? {} : { capture: (attemptUid, _order, from) => captureOutputs({ directory: from, storage, path: `${attemptUid}.tar.gz` }) }),
    });
    await worker.sweep();
    return new WorkerProcess(worker, connections, orphanMs);
  }

  /** Fulfilled when it is closed. */
  get closed(): Promise<void> {
    return this.#worker.closed;
  }

  /** Lets a controller at the other end of a connection use it. The latest is asked on behalf of attempts. */
  serve(connection: Connection): void {
    serveWorkerLink(connection, this.#worker);
    this.#connections.add(connection);
  }

  /** Stops all attempts and ends. */
  async close(): Promise<void> {
    clearInterval(this.#orphanCheck);
    await this.#worker.close();
  }
}

/** The connections to controllers. */
class Connections {
  #open: Connection[] = [];
  #waiting: (() => void)[] = [];

  add(connection: Connection): void {
    this.#open.push(connection);
    void connection.closed.then(() => {
      this.#open = this.#open.filter((each) => each !== connection);
    });
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const wake of waiting) wake();
  }

  /** The latest, or the next. */
  async next(signal: AbortSignal): Promise<Connection> {
    for (;;) {
      signal.throwIfAborted();
      const latest = this.#open.at(-1);
      if (latest !== undefined) return latest;
      await new Promise<void>((resolve) => {
        const wake = (): void => {
          signal.removeEventListener("abort", wake);
          resolve();
        };
        signal.addEventListener("abort", wake, { once: true });
        this.#waiting.push(wake);
      });
    }
  }
}
