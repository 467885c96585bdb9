import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { format, inspect } from "node:util";
import { deserialize, serialize } from "node:v8";
import { errorToWire, MarinError } from "@marin/ducky";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createLogger } from "./log.js";
import { SecretStore } from "./secrets.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-secrets-"));
});
afterAll(() => rm(directory, { recursive: true }));

test("a secret comes from its environment variable, whatever the case and dashes of the name", async () => {
  const store = new SecretStore({ env: { MARIN_SECRET_OPENAI_API_KEY: "hunter2" } });
  expect((await store.get("openai_api_key")).reveal()).toBe("hunter2");
  expect((await store.get("OpenAI-API-key")).reveal()).toBe("hunter2");
});

test("a secret comes from the file its _FILE variable names, without the last line end", async () => {
  const path = join(directory, "key");
  await writeFile(path, "hunter2\n");
  const store = new SecretStore({ env: { MARIN_SECRET_KEY_FILE: path } });
  expect((await store.get("key")).reveal()).toBe("hunter2");
});

test("no way of printing a secret shows it", async () => {
  const secret = await new SecretStore({ env: { MARIN_SECRET_KEY: "hunter2" } }).get("key");
  for (const shown of [String(secret), `${secret.toString()}`, JSON.stringify({ secret }), inspect({ secret }, { showHidden: true }), format("%s %o %j", secret, secret, secret)]) {
    expect(shown).toContain("[secret key]");
    expect(shown).not.toContain("hunter2");
  }
});

test.each([
  [{}, "key", "RIGGING_SECRET_MISSING", "MARIN_SECRET_KEY_FILE"],
  [{ MARIN_SECRET_KEY: "" }, "key", "RIGGING_SECRET_EMPTY", "MARIN_SECRET_KEY"],
  [{ MARIN_SECRET_KEY: "hunter2", MARIN_SECRET_KEY_FILE: "x" }, "key", "RIGGING_SECRET_AMBIGUOUS", "unset one"],
  [{ MARIN_SECRET_KEY_FILE: "no/such/file" }, "key", "RIGGING_SECRET_UNREADABLE", "no/such/file"],
  [{}, "a key", "RIGGING_BAD_SECRET_NAME", "letters, digits"],
])("%j, asked for %j, fails with %s and says what to do", async (env, name, code, message) => {
  const failure: unknown = await new SecretStore({ env }).get(name).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code });
  expect((failure as Error).message).toContain(message);
  expect(inspect(failure)).not.toContain("hunter2");
});

test("a secret in a log line, in an error and its cause, sent to another process or enumerated: it never shows", async () => {
  const secret = await new SecretStore({ env: { MARIN_SECRET_KEY: "hunter2" } }).get("key");
  const lines: string[] = [];
  for (const format of ["text", "json"] as const) {
    const log = createLogger({ format, write: (line) => void lines.push(line) }).with({ secret });
    log.info(`with ${String(secret)}`, { nested: { list: [secret] }, error: new Error(`failed with ${String(secret)}`) });
  }
  const error = new MarinError("A_CODE", `failed with ${String(secret)}`, { data: { secret, list: [secret] }, cause: new Error("cause", { cause: secret }) });
  const shown = [
    ...lines,
    JSON.stringify(error.data),
    inspect(error, { depth: 20, showHidden: true, showProxy: true, getters: true }),
    JSON.stringify(errorToWire(error)),
    JSON.stringify(structuredClone({ secret })),
    inspect(deserialize(serialize({ secret }))),
    JSON.stringify({ ...secret }),
    JSON.stringify(Object.entries(secret)),
    String(Object.values(secret)),
    `${[secret].join()}`,
    inspect(new Map([[secret, new Set([secret])]]), { showHidden: true }),
  ];
  expect(lines).toHaveLength(2);
  for (const text of shown) expect(text).not.toContain("hunter2");
  expect(lines[0]).toContain("[secret key]");
  expect(secret.reveal()).toBe("hunter2");
});
