import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "../log.js";
import { redactor } from "../redaction/redactor.js";
import { SecretStore } from "../secrets.js";
import { parseSecretReference } from "./reference.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-references-"));
});
afterAll(() => rm(directory, { recursive: true }));

test("a reference says where the value is", async () => {
  const path = join(directory, "key");
  await writeFile(path, "from-file\r\n");
  const store = new SecretStore({ env: { HF_TOKEN: "from-env" } });
  expect((await store.get("env:HF_TOKEN")).reveal()).toBe("from-env");
  expect((await store.get(`file:${path}`)).reveal()).toBe("from-file");
  expect((await store.get(`file://${path}`)).reveal()).toBe("from-file");
  expect(String(await store.get("env:HF_TOKEN"))).toBe("[secret env:HF_TOKEN]");
  expect(redactor.redact("it is from-env")).toContain("[secret env:HF_TOKEN]");
});

test("of several the first that is there wins; a broken one is an error, not the next", async () => {
  const [good, empty, binary, folder, loop] = ["good", "empty", "binary", "folder", "loop"].map((name) => join(directory, name)) as [string, string, string, string, string];
  await Promise.all([writeFile(good, "from-file"), writeFile(empty, "\n"), writeFile(binary, Buffer.from([0xff, 0xfe])), mkdir(folder), symlink(loop, loop)]);
  const store = new SecretStore({ env: { A: "from-a", B: "from-b", EMPTY: "" } });
  const get = async (...references: string[]): Promise<string> => (await store.get(references)).reveal();
  expect(await get("env:NONE", "env:A", "env:B")).toBe("from-a");
  expect(await get("env:NONE", `file:${directory}/none`, `file:${good}`)).toBe("from-file");
  await expect(get("env:EMPTY", "env:A")).rejects.toMatchObject({ code: "RIGGING_SECRET_EMPTY" });
  await expect(get(`file:${empty}`, "env:A")).rejects.toMatchObject({ code: "RIGGING_SECRET_EMPTY" });
  for (const path of [binary, folder, loop]) await expect(get(`file:${path}`, "env:A")).rejects.toMatchObject({ code: "RIGGING_SECRET_UNREADABLE", data: { scheme: "file", path } });
  await expect(get("env:NONE", `file:${directory}/none`)).rejects.toMatchObject({ code: "RIGGING_SECRET_MISSING", message: `A secret is not set: nothing is at env:NONE, nor at file:${directory}/none.` });
  await expect(store.get([])).rejects.toMatchObject({ code: "RIGGING_SECRET_MISSING" });
});

test.each([
  "hunter2!", "sk-abcdefghijklmnop1234567890", "hf_abcdefghijklmnop1234", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiJhZGEifQ.c2ln", `a${"b".repeat(64)}`,
  "env:sk-abcdefghijklmnop1234", "env:a b", "file:relative/key", "https://example.com/key", "gcp-secret://projects/p/secrets/s!/versions/1", "value:hunter2",
])("a literal is refused, and no message repeats it: %s", async (literal) => {
  const store = new SecretStore({ env: { A: "a" } });
  for (const source of [literal, ["env:A", literal]]) {
    const failure: unknown = await store.get(source).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^RIGGING_BAD_SECRET_(NAME|REFERENCE)$/) as string });
    expect(inspect(failure, { depth: 9 })).not.toContain(literal.replace(/^[a-z-]+:/, ""));
  }
});

test.each(["env:", "file:", "file:/", "file:/a\0b", "gcp-secret:"])("%j is no reference", async (reference) => {
  await expect(new SecretStore({ env: {} }).get(reference)).rejects.toMatchObject({ code: "RIGGING_BAD_SECRET_REFERENCE" });
});

test("a version of Google's must be a number", () => {
  for (const end of ["", "/versions/latest", "/versions/prod", "/versions/0"]) {
    expect(() => parseSecretReference(`gcp-secret://projects/p/secrets/s${end}`)).toThrow(expect.objectContaining({ code: "RIGGING_SECRET_UNPINNED" }) as Error);
  }
  expect(parseSecretReference("gcp-secret://projects/p-1/secrets/s_2/versions/3")).toEqual({ scheme: "gcp-secret", project: "p-1", secret: "s_2", version: "3" });
});

test("only the scheme is logged", async () => {
  let text = "";
  const log = createLogger({ level: "debug", format: "json", write: (line) => void (text += line) });
  const store = new SecretStore({ env: { HF_TOKEN: "from-env", MARIN_SECRET_NAMED: "from-name" }, log });
  await store.get(["env:NONE", "env:HF_TOKEN"]);
  await store.get("named");
  expect(text.trim().split("\n").map((line) => JSON.parse(line) as unknown)).toEqual(Array(2).fill(expect.objectContaining({ message: "secret read", scheme: "env" })));
  for (const hidden of ["from-env", "from-name", "HF_TOKEN", "NONE", "named"]) expect(text).not.toContain(hidden);
});
