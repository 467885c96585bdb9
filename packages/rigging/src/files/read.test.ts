import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { readJson, sha256File } from "./read.js";

const schema = z.strictObject({ steps: z.number().int().default(5), model: z.strictObject({ layers: z.number() }) });

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-read-"));
});
afterAll(() => rm(directory, { recursive: true }));

async function file(content: string | Uint8Array): Promise<string> {
  const path = join(directory, "a.json");
  await writeFile(path, content);
  return path;
}

test("reads, checks, fills in defaults", async () => {
  expect(await readJson(await file('{"model": {"layers": 2}}'), schema)).toEqual({ steps: 5, model: { layers: 2 } });
});

test.each([
  ['{"model": {"layers": "two"}}', "model.layers"],
  ['{"model": {}}', "model.layers"],
  ['{"model": {"layers": 2}, "stepz": 1}', "stepz"],
  ["[]", "(the whole file)"],
])("%s is refused, naming file and field", async (text, field) => {
  const path = await file(text);
  const failure = readJson(path, schema);
  await expect(failure).rejects.toMatchObject({ code: "RIGGING_BAD_FIELD" });
  await expect(failure).rejects.toThrow(path);
  await expect(failure).rejects.toThrow(field);
});

test.each([
  ["truncated", '{"model": {"la'],
  ["empty", ""],
  ["not UTF-8", new Uint8Array([0x22, 0xff, 0x22])],
])("a file that is %s is refused, naming it", async (reason, content) => {
  const path = await file(content);
  await expect(readJson(path, schema)).rejects.toMatchObject({ code: "RIGGING_BAD_JSON", data: { path } });
  if (reason !== "truncated") await expect(readJson(path, schema)).rejects.toThrow(reason);
});

test("a missing file is told as such", async () => {
  await expect(readJson(join(directory, "none"), schema)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  await expect(sha256File(join(directory, "none"))).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test("SHA-256 of the published test vectors (FIPS 180-2)", async () => {
  expect(await sha256File(await file("abc"))).toBe("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  expect(await sha256File(await file(""))).toBe("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  expect(await sha256File(await file("a".repeat(1_000_000)))).toBe("cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
});
