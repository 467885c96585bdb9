import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { gzipSync } from "node:zlib";
import { createStorage } from "@marin/iris";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { gather, memoryFile, readAll } from "../../test/read-all.js";
import { counted } from "../context.js";
import { packZstd } from "../compression/zstd-frame.js";
import { readRecords } from "./records.js";

const lines = '{"a":1}\n{"a":2}\n{"a":3}\n';
const packed = gzipSync(lines);
const truncated = packed.subarray(0, packed.length - 9);
const flipped = Buffer.from(packed).fill((packed[packed.length - 6] ?? 0) ^ 1, packed.length - 6, packed.length - 5);
const latin = Buffer.from('{"a":1}\n{"a":"\u00fc"}\n{"a":3}\n', "latin1");

describe("Bad input", () => {
  test("Bad input: truncated gz and a flipped checksum name file and offset, also where bad records are passed over", async () => {
    for (const onBadRecord of ["fail", { skip: true }] as const) {
      await expect(readAll("a.jsonl.gz", truncated, { onBadRecord })).rejects.toMatchObject({ code: "ZEPHYR_BAD_GZIP", data: { path: "memory://a.jsonl.gz", offset: truncated.length }, message: expect.stringContaining("cut short") as string });
      await expect(readAll("a.jsonl.gz", flipped, { onBadRecord })).rejects.toMatchObject({ code: "ZEPHYR_BAD_GZIP", data: { path: "memory://a.jsonl.gz" }, message: expect.stringContaining("damaged") as string });
      await expect(readAll("a.jsonl.zst", (await packZstd(Buffer.from(lines))).subarray(0, -1), { onBadRecord })).rejects.toMatchObject({ code: "ZEPHYR_BAD_ZSTD", data: { path: "memory://a.jsonl.zst" } });
    }
  });

  test("Bad input: all members of a multi-member gz are read, cut inside a line or not", async () => {
    const [first, second] = [lines.slice(0, 11), lines.slice(11)];
    expect(await readAll("a.jsonl.gz", Buffer.concat([gzipSync(first), gzipSync(second)]))).toEqual([{ a: 1 }, { a: 2 }, { a: 3 }]);
  });

  test("Bad input: a byte order mark is no part of the text", async () => {
    expect(await readAll("a.jsonl", `\uFEFF${lines}`)).toHaveLength(3);
    expect(await readAll("a.csv", "\uFEFFa,b\n1,2\n")).toEqual([{ a: "1", b: "2" }]);
    expect(await readAll("a.txt", "\uFEFFeins")).toEqual([{ text: "eins" }]);
  });

  test.each([
    ["half a line", "a.jsonl", '{"a":1}\n{"a":2}\n{"a":', [{ a: 1 }, { a: 2 }], { code: "ZEPHYR_BAD_JSON", line: 3, offset: 16 }],
    ["half a line in a packed file", "a.jsonl.gz", gzipSync('{"a":1}\n{"a":\n{"a":3}\n'), [{ a: 1 }, { a: 3 }], { code: "ZEPHYR_BAD_JSON", line: 2, offset: 8 }],
    ["bytes that are not UTF-8", "a.jsonl", latin, [{ a: 1 }, { a: 3 }], { code: "ZEPHYR_NOT_UTF8", line: 2, offset: 14 }],
    ["a line that is too long", "a.jsonl", `{"a":1}\n{"a":"${"x".repeat(300)}"}\n{"a":3}\n`, [{ a: 1 }, { a: 3 }], { code: "ZEPHYR_LINE_TOO_LONG", line: 2, offset: 8 }],
    ["a long last line", "a.jsonl", `{"a":1}\n{"a":"${"x".repeat(300)}`, [{ a: 1 }], { code: "ZEPHYR_LINE_TOO_LONG", line: 2, offset: 8 }],
    ["a field too many", "a.csv", "a,b\n1,2\n1,2,3\n3,4\n", [{ a: "1", b: "2" }, { a: "3", b: "4" }], { code: "ZEPHYR_BAD_CSV", line: 3, offset: 8 }],
    ["a stray quote", "a.csv", 'a,b\n1,2\n5" pipe,x\n3,4\n', [{ a: "1", b: "2" }, { a: "3", b: "4" }], { code: "ZEPHYR_BAD_CSV", line: 3, offset: 8 }],
    ["a quote that never closes", "a.csv", 'a,b\n1,2\n"x,y\n3,4\n', [{ a: "1", b: "2" }, { a: "3", b: "4" }], { code: "ZEPHYR_BAD_CSV", line: 3, offset: 8 }],
  ])("Bad input: %s is an error with file and offset; passed over, it is counted and told in the side file", async (_what, name, content, rest, { code, line, offset }) => {
    const path = `memory://${name}`;
    const settings = name.endsWith(".csv") ? {} : { maxLineBytes: 200 };
    await expect(readAll(name, content, { settings })).rejects.toMatchObject({ code, data: { path, line, offset }, message: expect.stringContaining(path) as string });
    const storage = await memoryFile(path, content);
    const { value, counters } = await counted(() => gather(readRecords(path, { storage, settings, onBadRecord: { skip: true, sideFile: "memory://bad/{basename}.jsonl" } })));
    expect(value).toEqual(rest);
    expect(counters["bad-records"]).toMatchObject({ sum: 1 });
    const [entry] = await gather(readRecords("memory://bad/a.jsonl", { storage }));
    expect(entry).toMatchObject({ path, line, code, message: expect.stringContaining(path) as string });
  });

  test("Bad input: the side file holds no more than its sample, and is there when nothing was bad", async () => {
    const storage = await memoryFile("memory://a.jsonl", "x\ny\nz\n1\n");
    const { value, counters } = await counted(() => gather(readRecords("memory://a.jsonl", { storage, onBadRecord: { skip: true, sample: 2, sideFile: "memory://bad.jsonl" } })));
    expect([value, counters["bad-records"]]).toMatchObject([[1], { sum: 3 }]);
    expect(await gather(readRecords("memory://bad.jsonl", { storage }))).toMatchObject([{ line: 1, offset: 0, text: "x" }, { line: 2, offset: 2, text: "y" }]);
    await gather(readRecords("memory://bad.jsonl", { storage, onBadRecord: { skip: true, sideFile: "memory://none.jsonl" } }));
    expect(await gather(readRecords("memory://none.jsonl", { storage }))).toEqual([]);
  });

  test("Bad input: records without fields, where fields are asked for", async () => {
    expect(await readAll("a.jsonl", '{"a":1,"b":2}\n{"b":3}\n', { columns: ["a"], pathColumn: "file" })).toEqual([{ a: 1, file: "memory://a.jsonl" }, { file: "memory://a.jsonl" }]);
    await expect(readAll("a.jsonl", '{"a":1}\n[7]\n', { columns: ["a"] })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { line: 2, offset: 8 }, message: expect.stringContaining("it is a list") as string });
  });
});

describe("a file that changes while it is read", () => {
  let directory: string;
  beforeAll(async () => {
    directory = await mkdtemp(`${tmpdir()}/zephyr-change-`);
  });
  afterAll(() => rm(directory, { recursive: true }));

  test("is an error: lines added, content overwritten; what is put in its place as a whole is another file, and the old one is read to its end", async () => {
    const path = `${directory}/a.jsonl`;
    const before = `"${"x".repeat(2000)}"\n`.repeat(2000);
    const read = async (change: () => Promise<void>): Promise<number> => {
      await writeFile(path, before);
      let seen = 0;
      for await (const value of readRecords(path)) {
        seen += Number(value === "x".repeat(2000));
        if (seen === 1) await change();
      }
      return seen;
    };
    await expect(read(() => appendFile(path, "1\n"))).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { path } });
    await expect(read(() => writeFile(path, before.replaceAll("x", "y")))).rejects.toMatchObject({ code: "RIGGING_CHANGED", data: { path } });
    expect(await read(() => createStorage().write(path, "1\n"))).toBe(2000);
  });
});
