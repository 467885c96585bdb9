import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { makeTemporaryDirectory } from "./temporary-directory.js";
import { removeOwnTemporaries, temporaryPathFor } from "./temporary.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-temporary-"));
  vi.stubEnv("TMPDIR", directory);
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(directory, { recursive: true });
});

test("a temporary directory is its owner's alone and goes when it is disposed of; what a process that is gone has left goes with the first one", async () => {
  // The same process id, begun at another time.
  const dead = temporaryPathFor(join(directory, "zephyr")).replace(/_[^_]+_/, "_0_");
  await mkdir(join(dead, "stage-000"), { recursive: true });
  await writeFile(join(directory, "else"), "");
  {
    await using made = await makeTemporaryDirectory("zephyr");
    await writeFile(join(made.path, "a"), "");
    expect(dirname(made.path)).toBe(directory);
    expect((await stat(made.path)).mode & 0o777).toBe(0o700);
    expect((await readdir(directory)).sort()).toEqual([basename(made.path), "else"]);
  }
  expect(await readdir(directory)).toEqual(["else"]);
});

test("it goes when the process exits before, in the middle of its work", () => {
  const module = JSON.stringify(new URL("./temporary-directory.ts", import.meta.url).href);
  const code = `
    const { makeTemporaryDirectory } = await import(${module});
    const { mkdirSync, readdirSync } = await import("node:fs");
    process.env.TMPDIR = ${JSON.stringify(directory)};
    const { path } = await makeTemporaryDirectory("zephyr");
    mkdirSync(path + "/stage-000");
    console.log(readdirSync(process.env.TMPDIR).length);
    process.exit(0);`;
  expect(execFileSync(process.execPath, ["--conditions=@marin/source", "--import", "tsx", "--input-type=module", "-e", code], { encoding: "utf8", env: { ...process.env, TMPDIR: dirname(directory) } })).toBe("1\n");
  return expect(readdir(directory)).resolves.toEqual([]);
});

test("a system without a temporary directory is told with its path", async () => {
  vi.stubEnv("TMPDIR", join(directory, "none"));
  await expect(makeTemporaryDirectory("zephyr")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", message: expect.stringContaining("none") as string });
});

test("a process's own temporary files of a path are removed when it says so, and no others", async () => {
  const own = temporaryPathFor(join(directory, "a"));
  const others = [temporaryPathFor(join(directory, "a.b")), temporaryPathFor(join(directory, "b")), own.replace(/_[^_]+_/, "_0_"), join(directory, "a")];
  for (const path of [own, ...others]) await writeFile(path, "");
  await removeOwnTemporaries(join(directory, "a"));
  expect((await readdir(directory)).sort()).toEqual(others.map((path) => basename(path)).sort());
  await removeOwnTemporaries(join(directory, "none", "a"));
});
