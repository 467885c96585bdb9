import { spawn } from "node:child_process";
import { once } from "node:events";
import { appendFile, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, truncate, unlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { ownIdentity } from "@marin/rigging";
import type { Artifact, ArtifactDescription } from "./artifact.js";
import { fingerprint } from "./fingerprint.js";
import { Store } from "./store.js";

const description: ArtifactDescription = {
  version: "1",
  config: { vocabSize: 256, unused: undefined },
  inputs: { corpus: { name: "documents", fingerprint: "ab".repeat(32), digest: "cd".repeat(32) } },
};
const id = fingerprint({ name: "tokens", version: "1", config: description.config, inputs: { corpus: "ab".repeat(32) } });

let root: string;
let store: Store;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "finestore-"));
  store = await Store.open(join(root, "store"));
});
afterEach(() => rm(root, { recursive: true }));

async function fillTwo(directory: string): Promise<void> {
  await mkdir(join(directory, "shards"));
  await writeFile(join(directory, "shards", "0.bin"), "abc");
  await writeFile(join(directory, "a.txt"), "");
}

const produce = (): Promise<Artifact> => store.produce("tokens", id, description, fillTwo);

describe("producing", () => {
  test("an artifact holds its files, their digests, what it was made from, and can be got again", async () => {
    expect(await store.get("tokens", id)).toBeUndefined();
    const artifact = await produce();
    expect(artifact.directory).toBe(join(root, "store", "tokens", id));
    expect(artifact.record).toMatchObject({
      formatVersion: 2,
      name: "tokens",
      fingerprint: id,
      config: { vocabSize: 256 },
      inputs: description.inputs,
      files: [
        { path: "a.txt", bytes: 0, sha256: "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" },
        { path: "shards/0.bin", bytes: 3, sha256: "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" },
      ],
      provenance: { user: userInfo().username, host: hostname(), nodeVersion: process.version },
    });
    expect(await store.get("tokens", id)).toEqual(artifact);
    await store.verify(artifact);
    expect(await readdir(join(root, "store", "tokens"))).toEqual([id]);
    expect((await readdir(artifact.directory)).sort()).toEqual(["a.txt", "artifact.json", "shards"]);
  });

  test("what is there is not produced again", async () => {
    const first = await produce();
    const again = await store.produce("tokens", id, description, () => Promise.reject(new Error("not reached")));
    expect(again).toEqual(first);
    expect(await readdir(join(root, "store", "tokens"))).toEqual([id]);
  });

  test("equal content has an equal digest in another store at another time; other content has another", async () => {
    const other = await Store.open(join(root, "elsewhere"));
    const digests = [
      (await produce()).record.digest,
      (await other.produce("tokens", id, description, fillTwo)).record.digest,
      (await (await Store.open(join(root, "third"))).produce("tokens", id, description, (directory) => writeFile(join(directory, "a.txt"), "x"))).record.digest,
    ];
    expect(digests[0]).toBe(digests[1]);
    expect(digests[0]).not.toBe(digests[2]);
  });

  test("records about the run stay beside the content, outside of its digest", async () => {
    const withLog = { ...description, runRecords: ["log.jsonl", "logs"] };
    const artifact = await store.produce("tokens", id, withLog, async (directory) => {
      await fillTwo(directory);
      await writeFile(join(directory, "log.jsonl"), `${String(Math.random())}\n`);
      await mkdir(join(directory, "logs"));
      await writeFile(join(directory, "logs", "log"), "x");
    });
    expect(artifact.record.files.map(({ path }) => path)).toEqual(["a.txt", "shards/0.bin"]);
    expect(await readFile(join(artifact.directory, "log.jsonl"), "utf8")).not.toBe("");
    const without = await (await Store.open(join(root, "other"))).produce("tokens", id, description, fillTwo);
    expect(artifact.record.digest).toBe(without.record.digest);
  });

  test("a moved store serves the same artifacts", async () => {
    const { record } = await produce();
    await rename(join(root, "store"), join(root, "moved"));
    const moved = await (await Store.open(join(root, "moved"))).get("tokens", id);
    expect(moved?.record).toEqual(record);
  });

  test("a failure comes through and leaves nothing, unless the producer can resume", async () => {
    const boom = new Error("boom");
    const failing = async (directory: string): Promise<void> => {
      await appendFile(join(directory, "steps"), "1");
      throw boom;
    };
    await expect(store.produce("tokens", id, description, failing)).rejects.toBe(boom);
    expect(await readdir(join(root, "store", "tokens"))).toEqual([]);

    const resumable = { ...description, resumable: true };
    await expect(store.produce("tokens", id, resumable, failing)).rejects.toBe(boom);
    const starts: unknown[] = [];
    const artifact = await store.produce("tokens", id, resumable, async (directory, start) => {
      starts.push(start);
      await appendFile(join(directory, "steps"), "2");
    });
    expect(starts).toEqual([{ resume: true }]);
    expect(await readFile(join(artifact.directory, "steps"), "utf8")).toBe("12");
    expect(await readdir(join(root, "store", "tokens"))).toEqual([id]);
  });

  test("a producer that is killed is resumed in the same directory; while it lives it is not disturbed", async () => {
    const module = JSON.stringify(new URL("./store.ts", import.meta.url).href);
    const code = `
      import { writeFileSync } from "node:fs";
      const { Store } = await import(${module});
      const store = await Store.open(${JSON.stringify(store.directory)});
      const description = ${JSON.stringify({ ...description, resumable: true })};
      await store.produce("tokens", ${JSON.stringify(id)}, description, async (directory) => {
        writeFileSync(directory + "/checkpoint-1", "one");
        console.log("training");
        await new Promise((resolve) => process.stdin.on("end", resolve).resume());
      });
    `;
    const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", "--input-type=module", "-e", code], { stdio: ["pipe", "pipe", "inherit"] });
    await once(child.stdout, "data");
    await expect(produce()).rejects.toMatchObject({ code: "FINESTORE_BUSY", data: { pid: child.pid } });
    expect(await store.get("tokens", id)).toBeUndefined();
    child.kill("SIGKILL");
    await once(child, "exit");
    const artifact = await store.produce("tokens", id, { ...description, resumable: true }, async (directory, { resume }) => {
      expect(resume).toBe(true);
      expect(await readFile(join(directory, "checkpoint-1"), "utf8")).toBe("one");
      await writeFile(join(directory, "checkpoint-2"), "two");
    });
    expect(artifact.record.files.map(({ path }) => path)).toEqual(["checkpoint-1", "checkpoint-2"]);
  });

  test.each<[string, (directory: string) => Promise<void>, string]>([
    ["a link", (directory) => symlink("/", join(directory, "link")), "FINESTORE_BAD_FILE"],
    ["a record of its own", (directory) => writeFile(join(directory, "artifact.json"), "{}"), "FINESTORE_BAD_FILE"],
    ["a name other systems cannot hold", (directory) => writeFile(join(directory, "a\\b"), ""), "FINESTORE_BAD_RECORD"],
  ])("a producer that leaves %s is refused", async (_what, fill, code) => {
    await expect(store.produce("tokens", id, description, fill)).rejects.toMatchObject({ code });
    expect(await store.get("tokens", id)).toBeUndefined();
  });

  test("a configuration that is not JSON is refused before the work", async () => {
    const notReached = (): Promise<void> => Promise.reject(new Error("not reached"));
    await expect(store.produce("tokens", id, { ...description, config: { at: new Date() } }, notReached)).rejects.toMatchObject({ code: "FINESTORE_NOT_JSON" });
  });
});

describe("damage is told, naming the file, what was expected and found, and what to do", () => {
  const shard = (artifact: Artifact): string => join(artifact.directory, "shards", "0.bin");

  test.each<[string, (artifact: Artifact) => Promise<void>, object]>([
    ["a missing file", (artifact) => unlink(shard(artifact)), { file: "shards/0.bin", expected: "a file", found: "nothing" }],
    ["a truncated file", (artifact) => truncate(shard(artifact), 1), { file: "shards/0.bin", expected: "3 bytes", found: "1 bytes" }],
    ["a missing record", (artifact) => unlink(join(artifact.directory, "artifact.json")), { file: "artifact.json", found: "nothing" }],
    ["a truncated record", (artifact) => truncate(join(artifact.directory, "artifact.json"), 40), { file: "artifact.json" }],
  ])("get: %s", async (_what, damage, data) => {
    const artifact = await produce();
    await damage(artifact);
    const got = store.get("tokens", id);
    await expect(got).rejects.toMatchObject({ code: "FINESTORE_CORRUPT", data });
    await expect(got).rejects.toThrow(`Remove ${artifact.directory} and run again`);
    await expect(produce()).rejects.toMatchObject({ code: "FINESTORE_CORRUPT" });
  });

  test("verify: a file altered at equal size, a file gone since", async () => {
    const artifact = await produce();
    await writeFile(shard(artifact), "abd");
    await expect(store.get("tokens", id)).resolves.toBeDefined();
    await expect(store.verify(artifact)).rejects.toMatchObject({ code: "FINESTORE_CORRUPT", data: { file: "shards/0.bin" } });
    await unlink(shard(artifact));
    await expect(store.verify(artifact)).rejects.toMatchObject({ code: "FINESTORE_CORRUPT", data: { found: "nothing" } });
  });

  test.each([
    ["an edited configuration", '"vocabSize": 256', '"vocabSize": 512', "FINESTORE_CORRUPT"],
    ["a path that leads out", '"a.txt"', '"../a.txt"', "FINESTORE_CORRUPT"],
    ["an absolute path", '"a.txt"', '"/etc/passwd"', "FINESTORE_CORRUPT"],
    ["an unknown field", '"name"', '"extra": 1, "name"', "FINESTORE_CORRUPT"],
    ["another digest of an input", "cd".repeat(32), "ce".repeat(32), "FINESTORE_CORRUPT"],
    ["a newer format", '"formatVersion": 2', '"formatVersion": 3', "FINESTORE_NEWER_FORMAT"],
    ["an older format", '"formatVersion": 2', '"formatVersion": 1', "FINESTORE_OLDER_FORMAT"],
  ])("get: a record with %s", async (_what, from, to, code) => {
    const artifact = await produce();
    const path = join(artifact.directory, "artifact.json");
    const text = await readFile(path, "utf8");
    expect(text).toContain(from);
    await writeFile(path, text.replace(from, to));
    await expect(store.get("tokens", id)).rejects.toMatchObject({ code });
  });

  test("get: an artifact copied to another fingerprint's place", async () => {
    const artifact = await produce();
    const other = "0".repeat(64);
    await cp(artifact.directory, store.path("tokens", other), { recursive: true });
    await expect(store.get("tokens", other)).rejects.toMatchObject({ code: "FINESTORE_CORRUPT" });
  });
});

test("a store is made with the directories around it; a file in its place is named", async () => {
  const deep = join(root, "some where", "deep", "store");
  await Promise.all([Store.open(deep), Store.open(deep)]);
  expect(await readdir(deep)).toEqual(["finestore.json"]);
  await writeFile(join(root, "file"), "");
  await expect(Store.open(join(root, "file"))).rejects.toMatchObject({ code: "FINESTORE_NOT_A_DIRECTORY", data: { directory: join(root, "file") } });
  await expect(Store.open(join(root, "file", "store"))).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
});

test.runIf(process.platform === "linux")("a place that takes no directories is an error, not an endless attempt", async () => {
  await expect(Store.open("/proc/store/deep")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", data: { path: "/proc/store/deep" } });
});

test.each(["", "xx", '{"formatVersion":"2"}', '{"formatVersion":2,"more":1}', '{"formatVersion":0}', "null"])("a format file that holds %j is named, with what to do", async (text) => {
  await writeFile(join(root, "store", "finestore.json"), text);
  await expect(Store.open(join(root, "store"))).rejects.toMatchObject({
    code: "FINESTORE_CORRUPT",
    data: { path: join(root, "store", "finestore.json") },
    message: expect.stringContaining("remove this one file and run again") as string,
  });
  await unlink(join(root, "store", "finestore.json"));
  expect((await Store.open(join(root, "store"))).directory).toBe(join(root, "store"));
});

test.each([
  [3, "FINESTORE_NEWER_FORMAT", "update the program, or choose another store directory"],
  [1, "FINESTORE_OLDER_FORMAT", "choose another store directory, or remove that one"],
])("a store of format %d is refused, and nothing in it is touched", async (found, code, advice) => {
  const path = join(store.directory, "finestore.json");
  const text = `{"formatVersion": ${String(found)}, "more": true}`;
  await writeFile(path, text);
  for (const open of [() => Store.open(store.directory), () => Store.openExisting(store.directory)]) {
    await expect(open()).rejects.toMatchObject({ code, data: { found, known: 2 }, message: expect.stringContaining(advice) as string });
  }
  expect(await readFile(path, "utf8")).toBe(text);
});

test("looking for a store makes none", async () => {
  expect(await Store.openExisting(join(root, "nowhere"))).toBeUndefined();
  expect(await readdir(root)).toEqual(["store"]);
  expect((await Store.openExisting(store.directory))?.directory).toBe(store.directory);
});

test.each([
  ["../x", id],
  ["a/b", id],
  ["", id],
  ["Tokens", id],
  ["tokens", "abc"],
  ["tokens", "../".repeat(22).slice(0, 64)],
])("the name %j with fingerprint %j is refused", async (name, fingerprintText) => {
  await expect(store.get(name, fingerprintText)).rejects.toMatchObject({ code: "FINESTORE_BAD_NAME" });
});

describe("lineage", () => {
  /** Produces an artifact that holds a text, from others. */
  async function make(name: string, content: string, inputs: Readonly<Record<string, Artifact>> = {}, replace = false): Promise<Artifact> {
    const prints = Object.fromEntries(Object.entries(inputs).map(([role, { record }]) => [role, record.fingerprint]));
    const print = fingerprint({ name, version: "1", config: {}, inputs: prints });
    const recorded = Object.fromEntries(Object.entries(inputs).map(([role, { record }]) => [role, { name: record.name, fingerprint: record.fingerprint, digest: record.digest }]));
    return store.produce(name, print, { version: "1", config: {}, inputs: recorded, replace }, (directory) => writeFile(join(directory, "text"), content));
  }

  test("each artifact behind another once, inputs first, the artifact last", async () => {
    const documents = await make("documents", "texts");
    const tokenizer = await make("tokenizer", "merges", { documents });
    const tokens = await make("tokens", "ids", { tokenizer, documents });
    const entries = await store.lineage("tokens", tokens.record.fingerprint);
    expect(entries.map(({ name, state }) => `${name} ${state}`)).toEqual(["documents present", "tokenizer present", "tokens present"]);
    expect(entries.at(-1)).toMatchObject({ digest: tokens.record.digest, inputs: { tokenizer: { name: "tokenizer", digest: tokenizer.record.digest } } });

    const other = await make("documents", "other texts", {}, true);
    expect(other.record.fingerprint).toBe(documents.record.fingerprint);
    expect(await readFile(join(other.directory, "text"), "utf8")).toBe("other texts");
    expect((await store.lineage("tokens", tokens.record.fingerprint)).map(({ name, state }) => `${name} ${state}`)).toEqual(["documents changed", "tokenizer present", "tokens present"]);

    expect(await store.remove("tokenizer", tokenizer.record.fingerprint)).toBe(true);
    expect(await store.remove("tokenizer", tokenizer.record.fingerprint)).toBe(false);
    expect((await store.lineage("tokens", tokens.record.fingerprint)).map(({ name, state }) => `${name} ${state}`)).toEqual(["documents changed", "tokenizer missing", "tokens present"]);
    await expect(store.lineage("tokenizer", tokenizer.record.fingerprint)).rejects.toMatchObject({ code: "FINESTORE_NOT_FOUND" });
  });

  test("an artifact's digest covers those of its inputs", async () => {
    const before = await make("tokens", "ids", { documents: await make("documents", "texts") });
    const after = await make("tokens", "ids", { documents: await make("documents", "other", {}, true) }, true);
    expect(after.record.fingerprint).toBe(before.record.fingerprint);
    expect(after.record.digest).not.toBe(before.record.digest);
  });

  test("the list names what is finished, partial and damaged", async () => {
    await make("documents", "texts");
    const damaged = await produce();
    await truncate(join(damaged.directory, "shards", "0.bin"), 1);
    const stopped = store.produce("train", id, { ...description, resumable: true }, () => Promise.reject(new Error("stopped")));
    await expect(stopped).rejects.toThrow("stopped");
    await mkdir(join(store.directory, "runs"));
    await writeFile(join(store.directory, "runs", "record.json"), "{}");
    const listed = await store.list();
    expect(listed.map(({ name, state }) => `${name} ${state}`)).toEqual(["documents finished", "tokens damaged", "train partial"]);
    expect(listed[1]?.error).toMatchObject({ code: "FINESTORE_CORRUPT" });
    expect([await store.hasAttempt("train", id), await store.hasAttempt("tokens", id)]).toEqual([true, false]);
    for (const { name, fingerprint: print } of listed) expect(await store.remove(name, print)).toBe(true);
    expect(await store.list()).toEqual([]);
  });
});

describe("replacing", () => {
  test("the artifact stays until the new one is complete", async () => {
    const before = await produce();
    const replace = { ...description, replace: true };
    await expect(store.produce("tokens", id, replace, () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
    expect(await store.get("tokens", id)).toEqual(before);
    const after = await store.produce("tokens", id, replace, (directory) => writeFile(join(directory, "a.txt"), "new"));
    expect(after.record.files.map(({ path }) => path)).toEqual(["a.txt"]);
    expect(await readdir(join(store.directory, "tokens"))).toEqual([id]);
    expect(await store.get("tokens", id)).toEqual(after);
  });
});

describe("a holder that works for another process", () => {
  test("is a refusal while that one lives, and is waited for once it is gone", async () => {
    const child = spawn(process.execPath, ["-e", ""]);
    await once(child, "exit");
    const holders = { living: ownIdentity(), gone: { ...ownIdentity(), pid: child.pid ?? 0 } };
    let finish = (): void => undefined;
    const hold = (master: "living" | "gone"): { held: Promise<void>; done: Promise<Artifact> } => {
      let tell = (): void => undefined;
      const held = new Promise<void>((resolve) => (tell = resolve));
      const done = store.produce("tokens", id, { ...description, onBehalfOf: holders[master] }, async (directory) => {
        tell();
        await new Promise<void>((resolve) => (finish = resolve));
        await fillTwo(directory);
      });
      return { held, done };
    };
    const living = hold("living");
    await living.held;
    await expect(produce()).rejects.toMatchObject({ code: "FINESTORE_BUSY", data: { orphaned: false } });
    finish();
    await living.done;
    await store.remove("tokens", id);
    const gone = hold("gone");
    await gone.held;
    const waiting = produce();
    finish();
    expect(await waiting).toEqual(await gone.done);
  });
});
