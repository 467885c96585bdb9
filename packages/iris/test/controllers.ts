import { serialize } from "node:v8";
import { setImmediate as immediate } from "node:timers/promises";
import type { IrisApi, SubmitRequest } from "../src/client/iris-api.js";
import { Controller, type ControllerSettings } from "../src/controller/controller.js";
import { controllerApi } from "../src/controller/controller-api.js";
import { memorySeal } from "../src/controller/seal.js";
import { Store } from "../src/controller/store.js";
import { checkJobSpec, type JobSpec } from "../src/jobs/job-spec.js";
import { LineLog } from "../src/jobs/line-log.js";
import { entry, MarinError } from "../src/platform.js";

/** A controller over simulated workers, and how to kill it. */
export interface TestController {
  readonly controller: Controller;
  readonly api: IrisApi;
  /** As `kill -9` would: nothing is stored or told from now on. */
  kill(): void;
}

const seal = memorySeal();

/** Continues a store in this process. */
export async function continueStore(path: string, settings: Partial<ControllerSettings> = {}): Promise<TestController> {
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
