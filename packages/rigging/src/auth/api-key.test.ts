import { createHash } from "node:crypto";
import { mkdtemp, readFile, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ManualClock } from "../time/clock.js";
import { type ApiKeys, apiKeys, openApiKeys } from "./api-key.js";
import { authChain } from "./chain.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-keys-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function ask(keys: ApiKeys, key: string, clock = new ManualClock()): Promise<unknown> {
  return await authChain([apiKeys(keys, { clock })]).authenticate({ headers: { authorization: `Bearer ${key}` }, remoteAddress: undefined });
}

test("a key is shown once, kept as a hash for this user only, and known by every process that uses the directory", async () => {
  const folder = join(directory, "a");
  const { key, record } = await (await openApiKeys(folder, { clock: new ManualClock({ startMs: 7 }) })).create({ name: "ada", scopes: ["jobs:read"] });
  expect(key.reveal()).toMatch(/^marin_[A-Za-z0-9]{12}_[A-Za-z0-9_-]{43}$/);
  expect(record).toEqual({ id: key.reveal().slice(6, 18), name: "ada", scopes: ["jobs:read"], hash: createHash("sha256").update(key.reveal().slice(19)).digest("hex"), createdAt: 7 });
  const [file = ""] = await readdir(folder);
  expect((await stat(folder)).mode & 0o777).toBe(0o700);
  expect((await stat(join(folder, file))).mode & 0o777).toBe(0o600);
  expect(await readFile(join(folder, file), "utf8")).not.toContain(key.reveal().slice(19));
  const other = await openApiKeys(folder);
  expect(await ask(other, key.reveal())).toEqual({ outcome: "authenticated", principal: { name: "ada", scopes: ["jobs:read"], authenticator: "api-key" } });
  expect(await other.list()).toEqual([record]);
});

test("a key that is revoked, ended, unknown or changed is rejected; what is no key is not", async () => {
  const folder = join(directory, "b");
  const keys = await openApiKeys(folder);
  const { key, record } = await keys.create({ name: "ada", scopes: ["*"], expiresAt: 1000 });
  const text = key.reveal();
  const clock = new ManualClock();
  expect(await ask(keys, text, clock)).toMatchObject({ outcome: "authenticated", principal: { expiresAt: 1000 } });
  const changed = text.slice(0, -1) + (text.endsWith("A") ? "E" : "A");
  for (const bad of [changed, `marin_${"A".repeat(12)}_${text.slice(19)}`]) expect(await ask(keys, bad)).toEqual({ outcome: "rejected", reason: "the API key is not known" });
  await clock.advance(1000);
  expect(await ask(keys, text, clock)).toEqual({ outcome: "rejected", reason: "the API key has ended" });
  await (await openApiKeys(folder)).revoke(record.id);
  expect(await ask(keys, text)).toEqual({ outcome: "rejected", reason: "the API key was revoked" });
  expect(apiKeys(keys).authenticate({ headers: { authorization: "Bearer other" }, remoteAddress: undefined })).toEqual({ outcome: "absent" });
  await expect(keys.revoke("A".repeat(12))).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  for (const id of ["../../etc/passwd", "", "a/b"]) expect(await keys.find(id)).toBeUndefined();
});

test("a damaged file lets nobody in, and says so as the server's fault", async () => {
  const folder = join(directory, "c");
  const keys = await openApiKeys(folder);
  const { key, record } = await keys.create({ name: "ada", scopes: ["*"] });
  for (const damage of ["", "{", "null", "[]", JSON.stringify({ ...record, hash: "" }), JSON.stringify({ ...record, scopes: "*" }), JSON.stringify({ ...record, expiresAt: "never" })]) {
    await writeFile(join(folder, `${record.id}.json`), damage);
    await expect(ask(keys, key.reveal())).rejects.toMatchObject({ code: "RIGGING_AUTH_UNAVAILABLE" });
  }
});

test("keys made at the same time are all kept", async () => {
  const folder = join(directory, "d");
  const [one, two] = await Promise.all([openApiKeys(folder), openApiKeys(folder)]);
  const made = await Promise.all(Array.from({ length: 20 }, (_, index) => (index % 2 === 0 ? one : two).create({ name: String(index), scopes: [] })));
  expect((await one.list()).map(({ id }) => id)).toEqual(made.map(({ record }) => record.id).sort());
  await expect(one.create({ name: "x", scopes: ["Bad"] })).rejects.toMatchObject({ code: "RIGGING_BAD_SCOPE" });
});
