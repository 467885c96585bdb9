import { afterEach, expect, test } from "vitest";
import { errorFromWire, errorToWire } from "@marin/ducky";
import { type S3Server, startS3Server } from "../s3-server/server.js";
import { createStorage } from "./create.js";
import type { Storage } from "./storage.js";
import { chargeTransfer, processTransferBudget, TransferBudget, withTransferBudget } from "./transfer-budget.js";

let server: S3Server | undefined;
afterEach(async () => {
  processTransferBudget.setLimit(Infinity);
  await server?.close();
});

async function far(): Promise<{ readonly storage: Storage; readonly reads: () => number }> {
  const started = (server = await startS3Server({ buckets: ["far", "near"] }));
  const storage = createStorage({ s3: { endpoint: started.endpoint, credentials: "anonymous" } });
  await storage.write("s3://far/a", Buffer.alloc(1000, 1));
  return { storage, reads: () => started.requests.filter(({ method }) => method === "GET").length };
}

test("a read is charged before it is made, by what it will bring; one that is too large is not made", async () => {
  const { storage, reads } = await far();
  const budget = new TransferBudget({ bytes: 1500, name: "the night's budget" });
  await withTransferBudget(budget, async () => {
    await storage.read("s3://far/a");
    await storage.read("s3://far/a", { start: 900, end: 5000 });
    expect(budget.used).toBe(1100);
    const before = reads();
    await expect(storage.read("s3://far/a")).rejects.toMatchObject({ code: "RIGGING_TRANSFER_BUDGET", data: { path: "s3://far/a", bytes: 1000, used: 1100, limit: 1500 }, message: expect.stringContaining("the night's budget") as string });
    await expect(storage.copy("s3://far/a", "memory://a")).rejects.toMatchObject({ code: "RIGGING_TRANSFER_BUDGET" });
    expect(reads()).toBe(before);
    expect(await storage.stat("memory://a")).toBeUndefined();
    for await (const chunk of storage.stream("s3://far/a", { start: 700 })) expect(chunk.length).toBeGreaterThan(0);
    expect(budget.used).toBe(1400);
  });
  await storage.read("s3://far/a");
  expect(budget.used).toBe(1400);
});

test("a copy from one bucket to another is charged, though the store makes it; one within a bucket is not", async () => {
  const { storage } = await far();
  const budget = new TransferBudget({ bytes: 1500 });
  await withTransferBudget(budget, async () => {
    await storage.copy("s3://far/a", "s3://near/a");
    await storage.copy("s3://near/a", "s3://near/b");
    expect(budget.used).toBe(1000);
    await expect(storage.copy("s3://far/a", "s3://near/c")).rejects.toMatchObject({ code: "RIGGING_TRANSFER_BUDGET" });
  });
  expect(await storage.stat("s3://near/c")).toBeUndefined();
});

test("budgets of several scopes are all charged, or none; work beside them is not", async () => {
  const { storage } = await far();
  const [outer, inner, beside] = [new TransferBudget({ bytes: 1500 }), new TransferBudget({ bytes: 5000 }), new TransferBudget({ bytes: 900 })];
  await withTransferBudget(outer, async () => {
    await withTransferBudget(inner, () => Promise.all([storage.read("s3://far/a"), new Promise((resolve) => setTimeout(resolve, 1))]));
    await withTransferBudget(inner, async () => await expect(storage.read("s3://far/a")).rejects.toMatchObject({ code: "RIGGING_TRANSFER_BUDGET" }));
  });
  expect([outer.used, inner.used, beside.used]).toEqual([1000, 1000, 0]);
  await withTransferBudget(beside, async () => await expect(storage.read("s3://far/a")).rejects.toMatchObject({ code: "RIGGING_TRANSFER_BUDGET" }));
});

test("the process's budget holds everywhere; native readers charge it; memory and disk are free; the error crosses processes", async () => {
  const { storage } = await far();
  const used = processTransferBudget.used;
  processTransferBudget.setLimit(used + 1200);
  chargeTransfer("s3://far/read-by-a-database", 300);
  const failure: unknown = await storage.read("s3://far/a").catch((error: unknown) => error);
  expect(errorFromWire(JSON.parse(JSON.stringify(errorToWire(failure))))).toMatchObject({ code: "RIGGING_TRANSFER_BUDGET", data: { limit: used + 1200, used: used + 300 } });
  await storage.write("memory://big", Buffer.alloc(5000));
  expect(await storage.read("memory://big")).toHaveLength(5000);
  processTransferBudget.setLimit(used + 1300);
  expect(await storage.read("s3://far/a")).toHaveLength(1000);
  expect(() => chargeTransfer("x", 1)).toThrow("MARIN_TRANSFER_BUDGET");
});
