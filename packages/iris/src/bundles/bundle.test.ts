import { execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtemp, readFile, readdir, readlink, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { collect } from "../../test/collect.js";
import { createStorage, openStorage } from "../platform.js";
import { packArchive } from "./archive.js";
import { createBundle } from "./bundle.js";
import { BundleCache } from "./bundle-cache.js";
import { BundleStore } from "./bundle-store.js";
import { readWorkspace } from "./workspace.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-bundle-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

async function write(root: string, files: Readonly<Record<string, string>>): Promise<string> {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(root, path)), { recursive: true });
    await writeFile(join(root, path), text);
  }
  return root;
}

const store = (): BundleStore => new BundleStore(openStorage("memory://bundles", createStorage()));

async function filesOf(root: string): Promise<string[]> {
  const names = await readdir(root, { recursive: true, withFileTypes: true });
  return names.filter((entry) => !entry.isDirectory()).map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1)).sort();
}

/** What git itself would take up. */
function gitFiles(root: string): string[] {
  const run = (...args: string[]): string => execFileSync("git", ["-c", "core.excludesFile=/dev/null", "-c", "core.quotePath=false", ...args], { cwd: root, encoding: "utf8" });
  run("init", "--quiet");
  return run("ls-files", "--others", "--exclude-standard", "-z").split("\0").filter((path) => path !== "").sort();
}

describe("a bundle", () => {
  it("has the same digest and bytes wherever its files lie and whenever they were written, and another as soon as anything in it differs", async () => {
    const files = { "src/train.ts": "export const a = 1;\n", "data/ünï 日本.txt": "x", ["deep/".repeat(30) + "long.txt"]: "long", "run.sh": "#!/bin/sh\n" };
    const [one, two] = [await write(join(directory, "one"), files), await write(join(directory, "two", "elsewhere"), files)];
    for (const root of [one, two]) await chmod(join(root, "run.sh"), 0o700);
    await utimes(join(two, "src/train.ts"), 1, 1);
    await symlink("src/train.ts", join(one, "link"));
    await symlink("src/train.ts", join(two, "link"));
    const [a, b] = [await createBundle(one), await createBundle(two)];
    expect(b.digest).toBe(a.digest);
    expect(Buffer.compare(a.data, b.data)).toBe(0);
    expect(a).toMatchObject({ files: 5, skipped: [] });
    const changes: (() => Promise<void>)[] = [
      () => chmod(join(two, "src/train.ts"), 0o755),
      () => writeFile(join(two, "src/train.ts"), "export const a = 2;\n"),
      () => writeFile(join(two, "another"), ""),
    ];
    const seen = new Set([a.digest]);
    for (const change of changes) {
      await change();
      seen.add((await createBundle(two)).digest);
    }
    expect(seen.size).toBe(4);
  });

  it("is read by tar as it was packed", async () => {
    const root = await write(join(directory, "work"), { "a/b.txt": "text", "c.sh": "sh", [`${"x".repeat(120)}/${"y".repeat(150)}`]: "a long name" });
    await chmod(join(root, "c.sh"), 0o755);
    await symlink("b.txt", join(root, "a/link"));
    const { data } = await createBundle(root);
    const out = join(directory, "out");
    await mkdir(out);
    execFileSync("tar", ["-xzf", "-"], { cwd: out, input: data });
    expect(await filesOf(out)).toEqual(await filesOf(root));
    expect(await readlink(join(out, "a/link"))).toBe("b.txt");
    expect((await stat(join(out, "c.sh"))).mode & 0o777).toBe(0o755);
  });

  it("leaves out what git ignores, in nested folders and from above, and never takes secrets, whose names it tells", async () => {
    const repository = await write(join(directory, "repository"), {
      ".gitignore": "dist\n*.log\n!keep.log\n",
      "work/.gitignore": "/only-here\ncache/*\n!cache/kept\n",
      "work/a.ts": "a",
      "work/dist/x.js": "built",
      "work/b.log": "log",
      "work/keep.log": "kept",
      "work/only-here": "no",
      "work/sub/only-here": "yes",
      "work/cache/one": "no",
      "work/cache/kept": "yes",
      "work/node_modules/x/index.js": "no",
      "work/.env": "SECRET=1",
      "work/sub/.env.production": "SECRET=2",
      "work/.env.example": "SECRET=",
      "work/deploy/server.pem": "x",
      "work/deploy/odd-name": "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\n",
      "work/deploy/account.json": '{ "type": "service_account", "private_key": "x" }',
      "work/.ssh/config": "x",
      "work/.iris/iris.db": "a controller's",
      "work/.iris/logs/x.jsonl": "{}",
      "work/.npmrc": "//registry/:_authToken=abc\n",
      "work/sub/.npmrc": "save-exact=true\n",
      "work/src/keys.ts": 'const start = "-----BEGIN PRIVATE KEY-----";\n',
    });
    gitFiles(repository);
    const { entries, skipped } = await readWorkspace(join(repository, "work"));
    expect(entries.map(({ path }) => path)).toEqual([".env.example", ".gitignore", "a.ts", "cache/kept", "keep.log", "src/keys.ts", "sub/.npmrc", "sub/only-here"]);
    expect(skipped.map(({ path }) => path)).toEqual([".env", ".iris", ".npmrc", ".ssh", "deploy/account.json", "deploy/odd-name", "deploy/server.pem", "sub/.env.production"]);
  });

  it("names the largest directories when it would be too large", async () => {
    const root = await write(directory, { "data/raw/big": "x".repeat(5_000), "src/a.ts": "x" });
    await expect(createBundle(root, { maxBytes: 4_000 })).rejects.toMatchObject({ code: "IRIS_BUNDLE_TOO_LARGE", message: expect.stringMatching(/The most is in data\/raw \(.*\.gitignore/) as string });
    await expect(createBundle(root, { maxBytes: 5_001 })).resolves.toMatchObject({ bytes: 5_001 });
  });

  it("holds no link that leads out or nowhere, nor one by way of another", async () => {
    const root = await write(join(directory, "work"), { "a/file": "x", "a/deep/er/file": "x", "b/.env": "S=1" });
    await write(directory, { outside: "secret" });
    const links: readonly (readonly [string, string])[] = [
      ["good", "a/file"], ["folder", "a"], ["a/up", "../a/file"], ["chain", "good"], ["out", "../outside"], ["absolute", join(root, "a/file")], ["nowhere", "missing"], ["secret", "b/.env"],
      ["chain-out", "out"], ["a/deep/er/root", "../../.."], ["trick", "a/deep/er/root/../outside"], ["through", "folder/file"],
    ];
    for (const [path, target] of links) await symlink(target, join(root, path));
    const { entries, skipped } = await readWorkspace(root);
    expect(entries.flatMap(({ path, target }) => (target === undefined ? [] : [path]))).toEqual(["a/deep/er/root", "a/up", "chain", "folder", "good"]);
    expect(skipped.map(({ path }) => path)).toEqual(["absolute", "b/.env", "chain-out", "nowhere", "out", "secret", "through", "trick"]);
  });

  it("says that a file was changed while it was read", async () => {
    const root = await write(directory, { a: "x".repeat(10), b: "y" });
    const { entries } = await readWorkspace(root);
    await writeFile(join(root, "a"), "shorter");
    await expect(collect(packArchive(root, entries))).rejects.toMatchObject({ code: "IRIS_FILE_CHANGED" });
  });
});

describe("which files belong to a workspace", () => {
  it("is what git says, for any rules", { timeout: 120_000 }, async () => {
    const name = fc.constantFrom("a", "b", "ab", "a.x", "b.x", ".c");
    const path = fc.array(name, { minLength: 1, maxLength: 3 }).map((parts) => parts.join("/"));
    const piece = fc.constantFrom("a", "b", "ab", "*", "a*", "*.x", "?", "[ab]", "[!a]*", "**", ".c");
    const rule = fc
      .record({ negated: fc.boolean(), start: fc.boolean(), pieces: fc.array(piece, { minLength: 1, maxLength: 3 }), folder: fc.boolean() })
      .map(({ negated, start, pieces, folder }) => `${negated ? "!" : ""}${start ? "/" : ""}${pieces.join("/")}${folder ? "/" : ""}`);
    const rules = fc.array(fc.oneof({ weight: 9, arbitrary: rule }, fc.constantFrom("", "# a comment", "a \r", "\\#a")), { maxLength: 5 });
    const workspace = fc.record({ paths: fc.uniqueArray(path, { minLength: 1, maxLength: 12 }), ignores: fc.uniqueArray(fc.tuple(fc.constantFrom("", "a/", "a/b/", "b/"), rules), { maxLength: 3, selector: ([at]) => at }) });
    let count = 0;
    await fc.assert(
      fc.asyncProperty(workspace, async ({ paths, ignores }) => {
        const root = join(directory, String((count += 1)));
        const files = paths.filter((path) => !paths.some((other) => other.startsWith(`${path}/`)));
        await write(root, Object.fromEntries(files.map((path) => [path, "x"])));
        for (const [at, lines] of ignores) {
          const isFolder = at === "" || files.some((path) => path.startsWith(at));
          if (isFolder) await write(root, { [`${at}.gitignore`]: lines.join("\n") });
        }
        const expected = gitFiles(root);
        expect((await readWorkspace(root)).entries.map(({ path }) => path)).toEqual(expected);
        await rm(root, { recursive: true });
      }),
      { numRuns: 60 },
    );
  });
});

describe("a kept bundle", () => {
  it("is unpacked once for all that ask, with its bytes, modes and links, without permission to write", async () => {
    const root = await write(join(directory, "work"), { "src/a.ts": "a", "run.sh": "x" });
    await chmod(join(root, "run.sh"), 0o755);
    await symlink("src/a.ts", join(root, "link"));
    const bundle = await createBundle(root);
    const bundles = store();
    await bundles.put(bundle);
    await bundles.put(bundle);
    let reads = 0;
    const counted = { read: (digest: string) => ((reads += 1), bundles.read(digest)) };
    const cache = new BundleCache(join(directory, "cache"), counted);
    const places = await Promise.all([1, 2, 3].map(() => cache.directory(bundle.digest)));
    expect(new Set(places).size).toBe(1);
    expect(await cache.directory(bundle.digest)).toBe(places[0]);
    expect(await new BundleCache(join(directory, "cache"), counted).directory(bundle.digest)).toBe(places[0]);
    expect(reads).toBe(1);
    const place = places[0] as string;
    expect(await filesOf(place)).toEqual(await filesOf(root));
    expect(await readFile(join(place, "link"), "utf8")).toBe("a");
    expect((await stat(join(place, "run.sh"))).mode & 0o777).toBe(0o555);
    expect((await stat(join(place, "src/a.ts"))).mode & 0o777).toBe(0o444);
    expect((await createBundle(root)).digest).toBe(bundle.digest);
  });

  it("that is missing, damaged or another is refused, and leaves nothing", async () => {
    const bundle = await createBundle(await write(join(directory, "work"), { a: "a".repeat(100_000), b: "b" }));
    const other = `sha256-${"0".repeat(64)}`;
    const bundles = store();
    const cache = new BundleCache(join(directory, "cache"), bundles);
    await expect(cache.directory(other)).rejects.toMatchObject({ code: "IRIS_NO_BUNDLE" });
    await expect(cache.directory("../x")).rejects.toMatchObject({ code: "IRIS_BAD_BUNDLE" });
    await expect(bundles.put({ digest: other, data: bundle.data })).rejects.toMatchObject({ code: "IRIS_BAD_BUNDLE" });
    await expect(bundles.put({ digest: bundle.digest, data: bundle.data.subarray(0, -20) })).rejects.toMatchObject({ code: "IRIS_BAD_ARCHIVE" });
    await expect(bundles.put({ digest: bundle.digest, data: Buffer.from("no archive") })).rejects.toMatchObject({ code: "IRIS_BAD_ARCHIVE" });
    expect(await bundles.has(bundle.digest)).toBe(false);
    const lying = new BundleCache(join(directory, "cache"), { read: () => toAsync([bundle.data]) });
    await expect(lying.directory(other)).rejects.toMatchObject({ code: "IRIS_BAD_BUNDLE" });
    expect(await readdir(join(directory, "cache"))).toEqual([]);
    // What failed once is asked for again.
    await bundles.put(bundle);
    expect(await filesOf(await cache.directory(bundle.digest))).toEqual(["a", "b"]);
  });

  it("can be given up waiting for, while others wait on", async () => {
    const bundle = await createBundle(await write(join(directory, "work"), { a: "a" }));
    let go = (): void => undefined;
    const gate = new Promise<void>((resolve) => (go = resolve));
    const cache = new BundleCache(join(directory, "cache"), {
      async *read() {
        await gate;
        yield bundle.data;
      },
    });
    const other = cache.directory(bundle.digest);
    const reason = new Error("enough");
    const controller = new AbortController();
    const mine = cache.directory(bundle.digest, { signal: controller.signal });
    controller.abort(reason);
    await expect(mine).rejects.toBe(reason);
    go();
    await expect(other).resolves.toContain(bundle.digest);
  });
});

async function* toAsync(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks;
}
