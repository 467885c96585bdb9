import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inspect } from "node:util";
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { z } from "zod";
import { flagOf, variableOf } from "./fields.js";
import { type ConfigSources, loadConfig } from "./load.js";
import { secretReference } from "./secret-reference.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-config-"));
});
afterAll(() => rm(directory, { recursive: true }));

const schema = z.strictObject({
  name: z.string().describe("what it is called"),
  server: z.strictObject({
    port: z.number().int().min(1).max(65_535).default(8080).describe("where it listens"),
    maxClients: z.number().default(10).describe("clients at once"),
    tls: z.boolean().default(false).describe("whether it is encrypted"),
  }).prefault({}).describe("the server"),
  mode: z.enum(["fast", "safe"]).default("safe").describe("how it works"),
  tags: z.array(z.string()).default([]).describe("words"),
  weights: z.record(z.string(), z.number()).default({}).describe("by name"),
  apiKey: secretReference().optional().describe("who we are"),
});

async function file(name: string, content: unknown): Promise<string> {
  const path = join(directory, name);
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

async function mistakes(sources: ConfigSources): Promise<string[]> {
  const failure: unknown = await loadConfig(schema, sources).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "RIGGING_BAD_CONFIG" });
  return (failure as { data: { mistakes: string[] } }).data.mistakes;
}

test("flags win over variables, these over later files, these over earlier ones, all over defaults; and every value says where it is from", async () => {
  const [one, two] = [await file("one.json", { name: "one", server: { port: 1, maxClients: 1 }, tags: ["a", "b"], weights: { x: 1 } }), await file("two.json", { server: { maxClients: 2 }, tags: ["c"], weights: { y: 2 } })];
  const config = await loadConfig(schema, {
    files: [one, two, { path: join(directory, "none.json"), optional: true }],
    env: { prefix: "APP_", variables: { APP_SERVER__TLS: "true", APP_MODE: "fast", OTHER: "x", APP_API_KEY: "env:KEY" } },
    flags: { mode: "safe", "server.port": "90", name: undefined },
  });
  expect(config.value).toEqual({ name: "one", server: { port: 90, maxClients: 2, tls: true }, mode: "safe", tags: ["c"], weights: { x: 1, y: 2 }, apiKey: "env:KEY" });
  expect(config.explain().split("\n").sort()).toEqual([
    'apiKey = "env:KEY" (APP_API_KEY)',
    'mode = "safe" (--mode)',
    `name = "one" (${one})`,
    `server.maxClients = 2 (${two})`,
    "server.port = 90 (--server.port)",
    "server.tls = true (APP_SERVER__TLS)",
    `tags = ["c"] (${two})`,
    `weights.x = 1 (${one})`,
    `weights.y = 2 (${two})`,
  ]);
  expect((await loadConfig(schema, { flags: { name: "n" } })).provenance.get("server.port")).toEqual({ kind: "default" });
});

test("each mistake names its file and field, its variable, or its flag; all are told at once", async () => {
  const path = await file("bad.json", { name: 7, server: { port: 0, prot: 1 }, extra: {} });
  const found = await mistakes({ files: [path], env: { prefix: "APP_", variables: { APP_SERVER__MAX_CLIENTS: "many", APP_MODE: "slow", APP_SEVRER__PORT: "1" } }, flags: { tagz: "a", "server.tls": "maybe" } });
  const expected = [
    "APP_SEVRER__PORT: there is no such variable; known are APP_NAME, APP_SERVER__PORT, ",
    'APP_SERVER__MAX_CLIENTS: "many" is not a number',
    "--tagz: there is no such flag; known are --name, --server.port, ",
    '--server.tls: "maybe" is not true or false',
    `${path}, field name: Invalid input: expected string`,
    `${path}, field server.port: Too small`,
    `${path}, field server.prot: there is no such field; known are port, maxClients, tls`,
    "APP_MODE (field mode): Invalid option",
    `${path}, field extra: there is no such field; known are name, server, mode`,
  ];
  for (const text of expected) expect(found.filter((mistake) => mistake.startsWith(text))).toHaveLength(1);
  expect(found).toHaveLength(expected.length);
  expect(await mistakes({ files: [await file("empty.json", {})], env: { prefix: "APP_", variables: {} }, flags: {} })).toEqual([
    `name: it is not set (Invalid input: expected string, received undefined); set it in ${join(directory, "empty.json")}, or as APP_NAME, or as --name`,
  ]);
});

test("a file that is no JSON is named, with the line where Node tells it, and nothing of it is shown", async () => {
  const path = await file("broken.json", '{\n  "apiKey": hunter2\n}');
  const failure: unknown = await loadConfig(schema, { files: [path] }).catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "RIGGING_BAD_JSON", message: expect.stringMatching(/broken\.json(, line 2)?: this is not JSON\.$/) as string });
  expect(inspect(failure)).not.toContain("hunter2");
  await expect(loadConfig(schema, { files: [await file("list.json", [])] })).rejects.toMatchObject({ code: "RIGGING_BAD_JSON" });
  await expect(loadConfig(schema, { files: [join(directory, "none.json")] })).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test("secrets are references only: a literal is refused wherever it stands, and never shown", async () => {
  const literal = "sk-literal-secret-0123456789";
  for (const sources of [{ files: [await file("literal.json", { name: "n", apiKey: literal })] }, { env: { prefix: "APP_", variables: { APP_NAME: "n", APP_API_KEY: literal } } }, { flags: { name: "n", apiKey: ["env:A", literal] } }]) {
    const failure: unknown = await loadConfig(schema, sources).catch((error: unknown) => error);
    expect(failure).toMatchObject({ code: "RIGGING_BAD_CONFIG" });
    expect((failure as Error).message).toContain("This is not a reference to a secret");
    expect(inspect(failure, { depth: 9 })).not.toContain(literal);
  }
  const both = await loadConfig(schema, { flags: { name: "n", apiKey: '["env:A","file:/run/key"]' } });
  expect(both.value.apiKey).toEqual(["env:A", "file:/run/key"]);
  await expect(loadConfig(z.strictObject({ server: z.strictObject({ password: z.string() }) }), {})).rejects.toMatchObject({ code: "RIGGING_BAD_CONFIG_SCHEMA", data: { field: "server.password" } });
  await expect(loadConfig(z.string(), {})).rejects.toMatchObject({ code: "RIGGING_BAD_CONFIG_SCHEMA" });
});

test("the result is what merging by hand gives, and names cannot reach into prototypes", async () => {
  const value = fc.record({ port: fc.integer({ min: 1, max: 65_535 }), maxClients: fc.integer() }, { requiredKeys: [] });
  await fc.assert(
    fc.asyncProperty(value, value, value, value, async (one, two, env, flags) => {
      const [path, other] = [await file("p1.json", { name: "n", server: one }), await file("p2.json", { server: two })];
      const variables = Object.fromEntries(Object.entries(env).map(([name, number]) => [variableOf("P_", ["server", name]), String(number)]));
      const config = await loadConfig(schema, { files: [path, other], env: { prefix: "P_", variables }, flags: Object.fromEntries(Object.entries(flags).map(([name, number]) => [`server.${name}`, number])) });
      expect(config.value.server).toEqual({ port: 8080, maxClients: 10, tls: false, ...one, ...two, ...env, ...flags });
    }),
    { numRuns: 30 },
  );
  const path = await file("proto.json", '{"name":"n","__proto__":{"polluted":1},"server":{"__proto__":{"polluted":1}}}');
  await expect(loadConfig(schema, { files: [path] })).rejects.toMatchObject({ code: "RIGGING_BAD_CONFIG" });
  expect({}).not.toHaveProperty("polluted");
});

test("text becomes what the field takes", async () => {
  const kinds = z.strictObject({ n: z.number().nullable().default(1), u: z.union([z.number(), z.string()]).default(""), l: z.array(z.number()).default([]), o: z.record(z.string(), z.number()).default({}), s: z.string().default("") });
  const load = async (flags: Record<string, string>): Promise<unknown> => (await loadConfig(kinds, { flags })).value;
  expect(await load({ n: "null", u: "1e3", l: "[1,2]", o: '{"a":1}', s: "007" })).toEqual({ n: null, u: 1000, l: [1, 2], o: { a: 1 }, s: "007" });
  expect(await load({ n: "-2.5", u: "abc", s: "true" })).toMatchObject({ n: -2.5, u: "abc", s: "true" });
  for (const [flags, text] of [[{ o: "{bad" }, "--o: \"{bad\" is not JSON"], [{ n: "" }, "--n: \"\" is not a number or null"], [{ n: "0x10" }, "--n"]] as const) {
    await expect(load(flags)).rejects.toMatchObject({ code: "RIGGING_BAD_CONFIG", message: expect.stringContaining(text) as string });
  }
  expect([variableOf("APP_", ["server", "maxClients"]), flagOf(["server", "maxClients"])]).toEqual(["APP_SERVER__MAX_CLIENTS", "--server.max-clients"]);
});
