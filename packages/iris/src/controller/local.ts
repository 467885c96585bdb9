import { userInfo } from "node:os";
import { join } from "node:path";
import type { OpenApi } from "../client/lazy-api.js";
import type { Resources } from "../jobs/job-spec.js";
import { LineLog } from "../jobs/line-log.js";
import { MarinError } from "../platform.js";
import { failureToWire } from "../runtime/failure.js";
import { Worker } from "../worker/worker.js";
import { Controller } from "./controller.js";
import { controllerApi } from "./controller-api.js";
import { memorySeal } from "./seal.js";
import { Store } from "./store.js";

/** Jobs that have ended and can still be asked about. */
const endedHeld = 1_000;

/** Settings of {@link openLocal}. */
interface LocalOptions {
  /** Names the worker. */
  readonly name: string;
  /** What to give to tasks. */
  readonly capacity: Resources;
  /** Where whole job logs are kept. */
  readonly directory: string | undefined;
}

/** A controller with one worker, both in this process and in its memory. */
export async function openLocal({ name, capacity, directory }: LocalOptions): Promise<OpenApi> {
  const store = await Store.open(":memory:");
  const controller = new Controller(store, memorySeal(), {
    endedInMemory: endedHeld,
    endedKept: endedHeld,
    user: ownName(),
    openLog: ({ id }) => new LineLog(directory === undefined ? {} : { directory: join(directory, ...id.split("/")) }),
    removeLog: () => undefined,
  });
  controller.addWorker(new Worker({ name, capacity, api: (uid) => controllerApi(controller, { kind: "attempt", uid }) }));
  return {
    api: controllerApi(controller, { kind: "client" }),
    close: async () => {
      controller.stopTaking();
      const reason = new MarinError("IRIS_CANCELLED", "The client that submitted the job was closed.");
      const jobs = [...controller.live];
      await controller.turns.run(() => {
        for (const job of jobs) controller.apply(job, { type: "cancelled", by: controller.settings.user, reason: reason.message, failure: failureToWire(reason) });
      });
      await Promise.all(jobs.map(({ ended }) => ended));
      await controller.close(true);
    },
  };
}

/** The name of who runs this process. */
export function ownName(): string {
  try {
    return userInfo().username;
  } catch {
    // A user without an entry in the system's table.
    return `user-${String(process.getuid?.() ?? 0)}`;
  }
}
