import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listTextFiles, readFolderTexts } from "./folder-source.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "marin-folder-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function read(): Promise<{ source: string; text: string }[]> {
  const texts = [];
  for await (const { source, text } of readFolderTexts(await listTextFiles(folder))) texts.push({ source, text });
  return texts;
}

test("text files of all depths are read in the order of their names; others are counted, hidden ones passed over", async () => {
  await mkdir(join(folder, "b", "c"), { recursive: true });
  await mkdir(join(folder, ".git"));
  await writeFile(join(folder, "b", "c", "deep.MD"), "deep");
  await writeFile(join(folder, "z.text"), "z");
  await writeFile(join(folder, "a.txt"), "a");
  await writeFile(join(folder, "picture.png"), "no text");
  await writeFile(join(folder, ".git", "config.txt"), "hidden");
  await symlink(join(folder, "a.txt"), join(folder, "link.txt"));
  expect(await read()).toEqual([
    { source: "a.txt", text: "a" },
    { source: "b/c/deep.MD", text: "deep" },
    { source: "link.txt", text: "a" },
    { source: "z.text", text: "z" },
  ]);
  expect((await listTextFiles(folder)).ignored).toBe(1);
});

test("a missing folder, a file, and a folder without text are refused, each saying what to give", async () => {
  const refusal = async (path: string): Promise<string> => {
    const error: unknown = await listTextFiles(path).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ code: "MARIN_SOURCE_UNUSABLE", data: { folder: path }, message: expect.stringContaining("--set documents.source=./my-texts") as string });
    return (error as Error).message;
  };
  expect(await refusal(join(folder, "missing"))).toContain("there is no such file or directory");
  expect(await refusal(folder)).toContain("it is empty");
  await writeFile(join(folder, "data.csv"), "1,2");
  expect(await refusal(folder)).toContain("None of the 1 files");
  expect(await refusal(join(folder, "data.csv"))).toContain("is a file");
});

test("bytes that are not UTF-8 are refused with file and offset", async () => {
  const path = join(folder, "bad.txt");
  await writeFile(path, Buffer.from("caf\xe9!", "latin1"));
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_NOT_UTF8", data: { path, offset: 3 } });
});
