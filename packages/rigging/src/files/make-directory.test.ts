import { existsSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeDirectory, makeDirectorySync } from "./make-directory.js";

let root: string;
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "make-directory-"));
  writeFileSync(join(root, "file"), "");
  symlinkSync(join(root, "nothing"), join(root, "dangling"));
});
afterAll(() => rmSync(root, { recursive: true }));

const ways = { makeDirectory, makeDirectorySync: async (path: string): Promise<void> => makeDirectorySync(path) };

test.each(Object.entries(ways))("%s makes what is missing, and leaves what is there", async (name, make) => {
  const path = join(root, name, "a", "b");
  await Promise.all([make(path), make(path), make(join(path, "c"))]);
  await make(path);
  expect(existsSync(join(path, "c"))).toBe(true);
});

test.each(Object.entries(ways))("%s is refused at once where nothing can be made", async (_name, make) => {
  for (const path of ["file", "file/x", "file/x/y", "dangling"].map((each) => join(root, each))) await expect(make(path)).rejects.toMatchObject({ code: expect.stringMatching(/^(?:EEXIST|ENOTDIR|ENOENT)$/) as unknown });
});

test.runIf(process.platform === "linux").each(Object.entries(ways))("%s is refused at once by a file system that makes none", async (_name, make) => {
  for (const path of ["/proc/x", "/proc/x/y/z"]) await expect(make(path)).rejects.toMatchObject({ code: "RIGGING_ACCESS_DENIED", message: expect.stringContaining("/proc lets none be made there") as unknown });
});
