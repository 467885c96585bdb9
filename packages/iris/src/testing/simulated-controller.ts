import { serialize } from "node:v8";
import { setImmediate as immediate } from "node:timers/promises";
import type { IrisApi, SubmitRequest } from "../client/iris-api.js";
import { Controller, type ControllerSettings } from "../controller/controller.js";
import { controllerApi } from "../controller/controller-api.js";
import { memorySeal } from "../controller/seal.js";
import { Store } from "../controller/store.js";
import { checkJobSpec, type JobSpec } from "../jobs/job-spec.js";
import { LineLog } from "../jobs/line-log.js";
import { entry, MarinError } from "../platform.js";

/** A controller over simulated workers, and how to kill it. */
export interface SimulatedController {
  readonly controller: Controller;
  readonly api: IrisApi;
  /** As `kill -9` would: nothing is stored or told from now on. */
  readonly kill: () => void;
}

const seal = memorySeal();

/**
 * Opens a controller in this process, and continues what its store holds.
 *
 * @param path - the store's file, or ":memory:"
 * @param settings - in place of the usual ones
 */
export async function continueStore(path: string, settings: Partial<ControllerSettings> = {}): Promise<SimulatedController> {
  const store = await Store.open(path);
  const logs = new Map<string, LineLog>();
  const controller = new Controller(store, seal, {
    endedInMemory: 64,
    endedKept: 10_000,
    user: "tester",
    openLog: ({ uid }) => {
      const log = logs.get(uid) ?? new LineLog();
      logs.set(uid, log);
      return log;
    },
    removeLog: (uid) => void logs.delete(uid),
    ...settings,
  });
  return {
    controller,
    api: controllerApi(controller, { kind: "client" }),
    kill: () => {
      controller.turns.stop(new MarinError("TEST_KILLED", "killed"));
      void controller.close(false);
      store.close();
    },
  };
}

/** A submission of a job whose function nobody runs. */
export function submission(spec: Omit<JobSpec, "entry">, submissionId: string, onExisting: SubmitRequest["onExisting"] = "error"): SubmitRequest {
  const { args, ...rest } = checkJobSpec({ ...spec, entry: entry(import.meta.url, "nothing") });
  return { spec: { ...rest, args: serialize(args) }, submissionId, onExisting };
}

/** Lets everything that is under way come to rest. */
export async function settle(rounds = 12): Promise<void> {
  for (let round = 0; round < rounds; round += 1) await immediate();
}
