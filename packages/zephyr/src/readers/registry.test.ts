import { gzipSync } from "node:zlib";
import { expect, test } from "vitest";
import { gather, memoryFile, readAll } from "../../test/read-all.js";
import { resolveFiles } from "../sources.js";
import type { Format } from "./format.js";
import { readRecords } from "./records.js";
import { formatOf, recordExtensions, registerFormat } from "./registry.js";

const words: Format = {
  name: "words",
  endings: [".words", ".long.words"],
  settings: ["between"],
  async *read({ chunks, settings }) {
    let text = "";
    for await (const chunk of chunks()) text += chunk.toString("latin1");
    for (const word of text.split((settings["between"] as string | undefined) ?? " ")) yield { word };
  },
};

test("a format that was registered is read by its endings, packed or not, with columns, paths and settings; taken back, it is not", async () => {
  const registered = registerFormat(words);
  expect(formatOf("a/B.WORDS.GZ")).toBe(words);
  expect(recordExtensions()).toContain(".words.zst");
  expect(await readAll("a.words", "one two")).toEqual([{ word: "one" }, { word: "two" }]);
  expect(await readAll("a.words.gz", gzipSync("one-two"), { settings: { between: "-" }, columns: ["word"], pathColumn: "path" })).toEqual(["one", "two"].map((word) => ({ word, path: "memory://a.words.gz" })));
  expect(() => registerFormat(words)).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_FORMAT" }));
  registered[Symbol.dispose]();
  expect(() => formatOf("a.words")).toThrow(expect.objectContaining({ code: "ZEPHYR_UNKNOWN_FORMAT" }));
});

test.each([
  ["a name that is taken", { name: "jsonl" }],
  ["a name with a space", { name: "my format" }],
  ["an ending that is taken", { endings: [".csv"] }],
  ["an ending without a dot", { endings: ["words"] }],
  ["an ending of a compression", { endings: [".words.gz"] }],
])("%s is refused", (_what, change) => {
  expect(() => registerFormat({ ...words, ...change })).toThrow(expect.objectContaining({ code: "ZEPHYR_BAD_FORMAT" }));
});

test("a format that does not finish its records has them finished, by number", async () => {
  using _registered = registerFormat({ ...words, async *read() { yield { a: 1 }; yield 7; } });
  await expect(readAll("a.words", "", { columns: ["a"] })).rejects.toMatchObject({ code: "ZEPHYR_BAD_RECORD", data: { record: 2 }, message: expect.stringContaining("record 2") as string });
});

test("a process that has not met the format imports the module that knows it", async () => {
  const storage = await memoryFile("memory://a.letters", "ab");
  expect(() => formatOf("memory://a.letters")).toThrow(expect.objectContaining({ code: "ZEPHYR_UNKNOWN_FORMAT" }));
  const module = new URL("../../test/fixtures/letters-format.ts", import.meta.url).href;
  const records = readRecords({ path: "memory://a.letters", bytes: 2, format: "letters", module }, { storage });
  expect(await gather(records)).toEqual([{ letter: "a" }, { letter: "b" }]);
  expect(await resolveFiles("memory://*.letters", { storage })).toEqual([{ path: "memory://a.letters", bytes: 2, format: "letters", module }]);
});
