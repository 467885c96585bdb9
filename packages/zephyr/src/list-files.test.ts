import { once } from "node:events";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listFiles } from "./list-files.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-list-"));
});
afterEach(() => rm(directory, { recursive: true }));

async function make(...names: readonly string[]): Promise<void> {
  for (const name of names) {
    await mkdir(join(directory, name, ".."), { recursive: true });
    await writeFile(join(directory, name), name);
  }
}

test("all files, deep ones too, sorted by name in code-unit order; hidden ones are passed over", async () => {
  await make("b.txt", "B.txt", "a/z.txt", "a.txt", "a-b.txt", "é.txt", ".hidden", ".git/config", "a/.DS_Store");
  const files = await listFiles(directory);
  expect(files.map(({ name }) => name)).toEqual(["B.txt", "a-b.txt", "a.txt", "a/z.txt", "b.txt", "é.txt"]);
  expect(files[3]).toEqual({ path: join(directory, "a", "z.txt"), name: "a/z.txt", bytes: 7 });
});

test("endings are compared without case", async () => {
  await make("a.txt", "b.TXT", "c.md", "d.text", "txt");
  const names = async (...extensions: string[]): Promise<string[]> => (await listFiles(directory, { extensions })).map(({ name }) => name);
  expect(await names(".txt")).toEqual(["a.txt", "b.TXT"]);
  expect(await names(".MD", ".text")).toEqual(["c.md", "d.text"]);
});

test("links are followed, one that leads round in a circle is not, one that leads nowhere is told", async () => {
  await make("real/a.txt", "real/deep/b.txt");
  await symlink(join(directory, "real"), join(directory, "linked"));
  await symlink(directory, join(directory, "real", "deep", "back"));
  const names = (await listFiles(directory)).map(({ name }) => name);
  expect(names).toEqual(["linked/a.txt", "linked/deep/b.txt", "real/a.txt", "real/deep/b.txt"]);
  expect((await listFiles(join(directory, "linked"))).length).toBeGreaterThanOrEqual(2);
  await symlink(join(directory, "none"), join(directory, "broken"));
  await expect(listFiles(directory)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", data: { path: join(directory, "broken") } });
});

test.runIf(process.platform !== "win32")("a socket is passed over", async () => {
  await make("a.txt");
  const server = createServer().listen(join(directory, "socket"));
  await once(server, "listening");
  expect((await listFiles(directory)).map(({ name }) => name)).toEqual(["a.txt"]);
  server.close();
});

test("no directory, a file instead of one, no files, none of the kind asked for", async () => {
  await expect(listFiles(join(directory, "none"))).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND" });
  const empty = listFiles(directory, { extensions: [".txt"] });
  await expect(empty).rejects.toMatchObject({ code: "ZEPHYR_NO_FILES" });
  await expect(empty).rejects.toThrow("no files ending in .txt: it is empty");
  await make("a.pdf", "b.pdf", "README");
  await expect(listFiles(directory, { extensions: [".txt"] })).rejects.toThrow("it has 3 others (.pdf, no ending)");
  await expect(listFiles(join(directory, "a.pdf"))).rejects.toMatchObject({ code: "ZEPHYR_NOT_A_DIRECTORY" });
});
