import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { readTextFile } from "./text.js";

let path: string;
beforeAll(async () => {
  path = join(await mkdtemp(join(tmpdir(), "zephyr-text-")), "a.txt");
});
afterAll(() => rm(join(path, ".."), { recursive: true }));

test.each([
  ["plain", "a\r\nb\n", "a\r\nb\n"],
  ["beyond the basic plane", "grün 😀", "grün 😀"],
  ["empty", "", ""],
  ["with a byte order mark", "\uFEFFabc", "abc"],
  ["with a second mark, which is text", "\uFEFF\uFEFFabc", "\uFEFFabc"],
])("text %s", async (_name, content, expected) => {
  await writeFile(path, content);
  expect(await readTextFile(path)).toBe(expected);
});

test.each([
  ["Latin-1", Buffer.from("caf\u00e9 au lait", "latin1"), 3, "0xe9"],
  ["after a byte order mark", Buffer.from([0xef, 0xbb, 0xbf, 0x61, 0xff]), 4, "0xff"],
  ["cut inside a character", Buffer.from("ab€").subarray(0, 4), 2, "0xe2"],
])("bytes that are not UTF-8 are refused, naming file and offset: %s", async (_name, content, offset, byte) => {
  await writeFile(path, content);
  const reading = readTextFile(path);
  await expect(reading).rejects.toMatchObject({ code: "ZEPHYR_NOT_UTF8", data: { path, offset, byte } });
  await expect(reading).rejects.toThrow(`byte ${String(offset)} is ${byte}`);
});

test("a UTF-16 file is called one", async () => {
  await writeFile(path, Buffer.from("\uFEFFabc", "utf16le"));
  await expect(readTextFile(path)).rejects.toThrow("begins a UTF-16 file");
});

test("a missing file", async () => {
  await expect(readTextFile(`${path}.none`)).rejects.toMatchObject({ code: "RIGGING_NOT_FOUND", data: { path: `${path}.none` } });
});
