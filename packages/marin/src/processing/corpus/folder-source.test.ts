import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { gzipSync } from "node:zlib";
import { writeParquet } from "@marin/zephyr";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { listTextFiles } from "./folder-source.js";
import { readTexts } from "./source-file.js";

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "marin-folder-"));
});
afterEach(async () => {
  await rm(folder, { recursive: true });
});

async function read(textField = "text"): Promise<{ source: string; text: string }[]> {
  const texts = [];
  for (const file of (await listTextFiles(folder)).files) for await (const text of readTexts(file, { textField, schema: {}, settings: {} }, undefined, undefined)) texts.push(text);
  return texts;
}

test("files of all depths are read in the order of their names; others are counted, hidden ones passed over", async () => {
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
  await writeFile(join(folder, "data.bin"), "1,2");
  expect(await refusal(folder)).toContain("None of the 1 files");
  expect(await refusal(join(folder, "data.bin"))).toContain("is a file");
});

test("bytes that are not UTF-8 are refused with file and offset", async () => {
  const path = join(folder, "bad.txt");
  await writeFile(path, Buffer.from("caf\xe9!", "latin1"));
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_NOT_UTF8", data: { path, offset: 3 } });
});

const row = (text: string): string => `${JSON.stringify({ text, id: 7 })}\n`;

test("each format gives its texts: packed ones, a row each of JSON Lines and Parquet", async () => {
  await writeFile(join(folder, "a.jsonl"), `${row("one")}\n${row("two")}`);
  await writeFile(join(folder, "b.jsonl.gz"), gzipSync(row("three")));
  await writeFile(join(folder, "c.txt.gz"), gzipSync("four"));
  await writeParquet(join(folder, "d.parquet"), [{ n: 1, text: "five" }, { n: 2, text: "six" }], { schema: { n: "int32", text: "string" } });
  expect(await read()).toEqual([
    { source: "a.jsonl:1", text: "one" },
    { source: "a.jsonl:2", text: "two" },
    { source: "b.jsonl.gz:1", text: "three" },
    { source: "c.txt.gz", text: "four" },
    { source: "d.parquet:1", text: "five" },
    { source: "d.parquet:2", text: "six" },
  ]);
});

test("another field can hold the text", async () => {
  await writeFile(join(folder, "a.jsonl"), '{"body":"one"}\n');
  await writeParquet(join(folder, "b.parquet"), [{ body: "two" }], { schema: { body: "string" } });
  expect((await read("body")).map(({ text }) => text)).toEqual(["one", "two"]);
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path: join(folder, "a.jsonl"), line: 1 }, message: expect.stringMatching(/column text: .* fields body\. .*--set documents\.textField=/) as string });
  await rm(join(folder, "a.jsonl"));
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_NO_COLUMN", message: expect.stringMatching(/body.*--set documents\.textField=/) as string });
});

test.each([
  ['{"text":"fine"}\n{"text":3}\n', "line 2", "expected", "found 3"],
  ['{"text":null}\n', "line 1", "expected", "found null"],
  ['{"text":["a"]}\n', "line 1", "expected", "found a value of type Array"],
  ['{"id":1,"content":"x"}\n', "line 1", "has the fields id, content", "--set documents.textField="],
  ['"text"\n', "line 1", "an object with fields", "it is string"],
])("a row without a text is told with file, line and field: %j", async (content, ...parts) => {
  const path = join(folder, "rows.jsonl");
  await writeFile(path, content);
  const reading = read();
  await expect(reading).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD" });
  for (const part of [path, ...parts]) await expect(reading).rejects.toThrow(part);
});

test("in Parquet too, by its row; a null is no text", async () => {
  const path = join(folder, "rows.parquet");
  await writeParquet(path, [{ text: "fine" }, { text: null }], { schema: { text: { nullable: "string" } } });
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { path, record: 2, field: "text" } });
});

test("a packed file that was cut short is an error, not a shorter text", async () => {
  const path = join(folder, "cut.txt.gz");
  await writeFile(path, gzipSync("a text that is long enough to be cut").subarray(0, -9));
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_BAD_GZIP", data: { path } });
});
