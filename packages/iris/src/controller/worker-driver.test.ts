import { systemClock } from "@marin/rigging";
import { expect, test } from "vitest";
import { order } from "../../test/worker-harness.js";
import type { WorkerLink } from "../worker/link.js";
import type { ReconcileRequest } from "../worker/protocol.js";
import { WorkerDriver } from "./worker-driver.js";

test("orders with large arguments come in several messages, and none is left out", async () => {
  const requests: ReconcileRequest["desired"][] = [];
  const nothing = (): void => undefined;
  const info = { name: "w", incarnation: "1", pid: 1, capacity: { cpu: 1, memoryBytes: 0, diskBytes: 0 }, attributes: {}, taints: [] };
  const link = {
    info,
    closed: new Promise<void>(nothing),
    reconcile: async ({ desired }: ReconcileRequest) => {
      requests.push(desired);
      return { incarnation: "1", attempts: [] };
    },
    // eslint-disable-next-line require-yield -- a worker that has nothing to report
    async *reports(_epoch: number, signal: AbortSignal) {
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
    },
  } as unknown as WorkerLink;
  const driver = new WorkerDriver(info, { epoch: 1, takeReports: async () => undefined, observed: nothing, reachabilityChanged: nothing, givenUp: nothing }, { reconcileMs: 60_000, workerTimeoutMs: 60_000 }, systemClock);
  const args = new Uint8Array(20 * 2 ** 20);
  for (const uid of ["a", "b", "c"]) driver.want(uid, order({ kind: "entry", module: "m", export: "e", args }), 0);
  driver.attach(link);
  await expect.poll(() => requests.length).toBe(3);
  expect(requests.map((desired) => desired.map((each) => `${each.attemptUid}${each.order === undefined ? "" : " ordered"}`))).toEqual([["a ordered"], ["a", "b ordered"], ["a", "b", "c ordered"]]);
  await driver.close(false);
});
