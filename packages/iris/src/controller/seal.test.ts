import { mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { memorySeal, openSeal } from "./seal.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-seal-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

it("what is sealed shows nothing, and opens again for the same directory alone", async () => {
  const plain = Buffer.from("TOKEN=very-secret".repeat(50));
  const seal = await openSeal(directory);
  const [one, two] = [seal.seal(plain), seal.seal(plain)];
  expect(Buffer.from(one).includes("very-secret")).toBe(false);
  expect(Buffer.compare(one, two)).not.toBe(0);
  expect(Buffer.from((await openSeal(directory)).open(one)).equals(plain)).toBe(true);
  expect(seal.open(seal.seal(new Uint8Array()))).toHaveLength(0);
  expect(() => memorySeal().open(one)).toThrow(expect.objectContaining({ code: "IRIS_SEAL_BROKEN" }) as Error);
  for (const damaged of [one.subarray(1), one.subarray(0, -1), one.subarray(0, 5), new Uint8Array()]) expect(() => seal.open(damaged)).toThrow(expect.objectContaining({ code: "IRIS_SEAL_BROKEN" }) as Error);
  expect((await stat(join(directory, "seal.key"))).mode & 0o777).toBe(0o600);
});

it("several that open a directory at once get one key, and a damaged key is told", async () => {
  const seals = await Promise.all([1, 2, 3, 4].map(() => openSeal(directory)));
  const sealed = seals[0]?.seal(Buffer.from("x")) as Uint8Array;
  for (const seal of seals) expect(Buffer.from(seal.open(sealed)).toString()).toBe("x");
  await writeFile(join(directory, "seal.key"), (await readFile(join(directory, "seal.key"))).subarray(1));
  await expect(openSeal(directory)).rejects.toMatchObject({ code: "IRIS_SEAL_BROKEN" });
});
