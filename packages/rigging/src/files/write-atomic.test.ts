import { MarinError } from "@marin/ducky";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, writeSync } from "node:fs";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { fileError } from "./file-error.js";
import { removeDeadTemporaries, temporaryPathFor } from "./temporary.js";
import { writeDirectoryAtomic, writeFileAtomic } from "./write-atomic.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-files-"));
});
afterEach(() => rm(directory, { recursive: true }));

/** Runs TypeScript in its own process until it is killed; resolves when it prints a line. */
async function running(code: string): Promise<ChildProcess> {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", "--input-type=module", "-e", code], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  await once(child.stdout, "data");
  return child;
}

describe("writeFileAtomic", () => {
  test.each([
    ["text", "grün\n", Buffer.from("grün\n")],
    ["bytes", new Uint8Array([0, 255, 10]), Buffer.from([0, 255, 10])],
    ["nothing", "", Buffer.alloc(0)],
  ])("writes %s, replaces what was there, and leaves no other file", async (_name, data, expected) => {
    const path = join(directory, "a.bin");
    await writeFile(path, "a much longer old content");
    expect(await writeFileAtomic(path, data)).toBe(expected.length);
    expect(await readFile(path)).toEqual(expected);
    expect(await readdir(directory)).toEqual(["a.bin"]);
  });

  test("writes a stream in order", async () => {
    async function* stream(): AsyncGenerator<Uint8Array> {
      for (const word of ["one ", "two ", "three"]) yield await Promise.resolve(Buffer.from(word));
    }
    await writeFileAtomic(join(directory, "a"), stream());
    expect(await readFile(join(directory, "a"), "utf8")).toBe("one two three");
  });

  test("a stream that fails leaves the old file and nothing else; its error comes through unchanged", async () => {
    await writeFile(join(directory, "a"), "old");
    const boom = new Error("boom");
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from("new"));
      throw boom;
    }
    await expect(writeFileAtomic(join(directory, "a"), stream())).rejects.toBe(boom);
    expect(await readFile(join(directory, "a"), "utf8")).toBe("old");
    expect(await readdir(directory)).toEqual(["a"]);
  });

  test("a missing directory, a directory in the file's place: a typed error that names the path", async () => {
    const missing = join(directory, "no", "a");
    await expect(writeFileAtomic(missing, "x")).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", data: { path: missing } });
    const taken = join(directory, "taken");
    await mkdir(taken);
    await expect(writeFileAtomic(taken, "x")).rejects.toMatchObject({ code: "RIGGING_IS_DIRECTORY", message: expect.stringContaining(taken) as string });
    expect(await readdir(directory)).toEqual(["taken"]);
  });

  test("how much a stream needs is not known, and not claimed", async () => {
    async function* stream(): AsyncGenerator<Uint8Array> {
      yield await Promise.resolve(Buffer.from("text"));
    }
    const message = /^Cannot write .*a: there is no such file or directory\.$/;
    await expect(writeFileAtomic(join(directory, "no", "a"), stream())).rejects.toMatchObject({ message: expect.stringMatching(message) as string });
  });

  test("names as long as the system allows", async () => {
    const path = join(directory, "ü".repeat(127));
    await writeFileAtomic(path, "x");
    expect(await readFile(path, "utf8")).toBe("x");
  });
});

test.runIf(process.platform === "linux")("a full disk is told as such, with the path and the bytes needed", () => {
  const full = openSync("/dev/full", "w");
  try {
    writeSync(full, "x");
    expect.unreachable();
  } catch (error) {
    const told = fileError(error, { action: "write", path: "run/model.bin", bytes: 3 * 1024 * 1024 });
    expect(told).toBeInstanceOf(MarinError);
    expect(told).toMatchObject({ code: "RIGGING_DISK_FULL", data: { path: "run/model.bin", bytes: 3_145_728, systemCode: "ENOSPC" } });
    expect((told as Error).message).toMatch(/run\/model\.bin \(3MiB needed\): the disk is full; free some space/);
  } finally {
    closeSync(full);
  }
});

describe("writeDirectoryAtomic", () => {
  test("the directory appears whole, with what was written into it", async () => {
    const path = join(directory, "step-1");
    await writeDirectoryAtomic(path, async (inside) => {
      await mkdir(join(inside, "deep"));
      await writeFile(join(inside, "deep", "a"), "1");
      expect(await readdir(directory)).not.toContain("step-1");
    });
    expect(await readFile(join(path, "deep", "a"), "utf8")).toBe("1");
    expect(await readdir(directory)).toEqual(["step-1"]);
  });

  test("a failing fill leaves nothing, and its error comes through", async () => {
    const boom = new Error("boom");
    const filling = writeDirectoryAtomic(join(directory, "step-1"), async (inside) => {
      await writeFile(join(inside, "a"), "1");
      throw boom;
    });
    await expect(filling).rejects.toBe(boom);
    expect(await readdir(directory)).toEqual([]);
  });

  test("what exists is not overwritten, also when it appears meanwhile", async () => {
    const path = join(directory, "step-1");
    const filling = writeDirectoryAtomic(path, async (inside) => {
      await writeFile(join(inside, "a"), "second");
      await mkdir(path);
      await writeFile(join(path, "a"), "first");
    });
    await expect(filling).rejects.toMatchObject({ code: "RIGGING_EXISTS", data: { path } });
    await expect(writeDirectoryAtomic(path, () => Promise.reject(new Error("not reached")))).rejects.toMatchObject({ code: "RIGGING_EXISTS" });
    expect(await readFile(join(path, "a"), "utf8")).toBe("first");
    expect(await readdir(directory)).toEqual(["step-1"]);
  });
});

test("what a killed process left is removed; what a running one is writing stays", async () => {
  const module = JSON.stringify(new URL("./write-atomic.ts", import.meta.url).href);
  const child = await running(`
    const { writeDirectoryAtomic } = await import(${module});
    await writeDirectoryAtomic(${JSON.stringify(join(directory, "checkpoint"))}, async () => {
      console.log("filling");
      await new Promise((resolve) => process.stdin.on("end", resolve).resume());
    });
  `);
  const own = temporaryPathFor(join(directory, "mine"));
  await writeFile(own, "");
  const before = await readdir(directory);
  expect(before).toHaveLength(2);
  expect(await removeDeadTemporaries(directory)).toEqual([]);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await removeDeadTemporaries(directory)).toEqual([expect.stringMatching(/^\.checkpoint\..*\.tmp$/)]);
  expect(await readdir(directory)).toEqual([own.slice(directory.length + 1)]);
});

test("sweeping leaves every other file alone, and a missing directory is no failure", async () => {
  const names = [".gitignore", "a.tmp", ".a.123.tmp", ".a.1_2_3_4.tmp"];
  for (const name of names) await writeFile(join(directory, name), "");
  expect(await removeDeadTemporaries(directory)).toEqual([]);
  expect((await readdir(directory)).sort()).toEqual([...names].sort());
  expect(await removeDeadTemporaries(join(directory, "none"))).toEqual([]);
});
