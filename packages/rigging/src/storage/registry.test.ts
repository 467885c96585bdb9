import { expect, test } from "vitest";
import { createStorage } from "./create.js";
import { MemoryStorage } from "./memory.js";
import { registerStorage } from "./registry.js";

test("a scheme that is registered is known to storages that exist already, each with its own driver, until it is taken back", async () => {
  const [one, other] = [createStorage(), createStorage()];
  await expect(one.stat("blobs://a")).rejects.toMatchObject({ code: "RIGGING_UNKNOWN_SCHEME", message: expect.stringContaining("registerStorage") as string });
  {
    using _ = registerStorage("blobs", () => new MemoryStorage());
    await one.write("blobs://a", "x");
    expect([(await one.stat("blobs://a"))?.bytes, (await other.stat("blobs://a"))?.bytes]).toEqual([1, undefined]);
    expect(() => registerStorage("blobs", () => new MemoryStorage())).toThrow(expect.objectContaining({ code: "RIGGING_BAD_SCHEME" }) as Error);
  }
  await expect(one.stat("blobs://a")).rejects.toMatchObject({ code: "RIGGING_UNKNOWN_SCHEME" });
});

test("a driver for one storage alone; schemes that cannot be are refused", async () => {
  const storage = createStorage({ drivers: { blobs: new MemoryStorage() } });
  await storage.write("blobs://a", "x");
  await expect(createStorage().stat("blobs://a")).rejects.toMatchObject({ code: "RIGGING_UNKNOWN_SCHEME" });
  for (const scheme of ["gs", "file", "x", "Blobs", "1a", "a b", ""]) expect(() => registerStorage(scheme, () => new MemoryStorage()), scheme).toThrow(expect.objectContaining({ code: "RIGGING_BAD_SCHEME" }) as Error);
  expect(() => createStorage({ drivers: { s3: new MemoryStorage() } })).toThrow(expect.objectContaining({ code: "RIGGING_BAD_SCHEME" }) as Error);
});

test("what a driver lacks is made of what it has, or refused", async () => {
  const whole = new MemoryStorage();
  await whole.write("least://d/a", "content");
  await whole.write("least://d/e/b", "b");
  const storage = createStorage({ drivers: { least: { stream: (path, options) => whole.stream(path, options), stat: (path) => whole.stat(path), list: (prefix) => whole.list(prefix) } } });
  expect(Buffer.from(await storage.read("least://d/a", { start: 1, end: 4 })).toString()).toBe("ont");
  const entries: string[] = [];
  for await (const { kind, path } of storage.listDirectory("least://d")) entries.push(`${kind} ${path}`);
  expect(entries).toEqual(["file least://d/a", "directory least://d/e/"]);
  await storage.copy("least://d/a", "memory://a");
  expect((await storage.stat("memory://a"))?.bytes).toBe(7);
  const refused: readonly Promise<unknown>[] = [storage.write("least://x", "x"), storage.remove("least://d/a"), storage.readVersioned("least://d/a"), storage.writeIf("least://x", "x", { version: undefined }), storage.rename("least://d/a", "least://b"), storage.rename("memory://a", "least://b"), storage.copy("memory://a", "least://b")];
  for (const result of await Promise.allSettled(refused)) expect(result).toMatchObject({ status: "rejected", reason: { code: "RIGGING_UNSUPPORTED" } });
});
