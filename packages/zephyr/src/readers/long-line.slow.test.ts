import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { createStorage } from "@marin/iris";
import { afterAll, beforeAll, expect, test } from "vitest";
import { gather } from "../../test/read-all.js";
import { counted } from "../context.js";
import { readRecords } from "./records.js";

let directory: string;
beforeAll(async () => {
  directory = await mkdtemp(`${tmpdir()}/zephyr-long-`);
});
afterAll(() => rm(directory, { recursive: true }));

test("Bad input: a line of 300 MB is an error that names it, or is passed over and counted", async () => {
  const path = `${directory}/a.jsonl`;
  const megabyte = Buffer.alloc(1e6, "x");
  const content = async function* (): AsyncGenerator<Uint8Array> {
    yield Buffer.from('{"a":1}\n{"a":"');
    for (let count = 0; count < 300; count += 1) yield megabyte;
    yield Buffer.from('"}\n{"a":3}\n');
  };
  await createStorage().write(path, content());
  await expect(gather(readRecords(path))).rejects.toMatchObject({ code: "ZEPHYR_LINE_TOO_LONG", data: { path, line: 2, offset: 8 } });
  const { value, counters } = await counted(() => gather(readRecords(path, { settings: { maxLineBytes: 1 << 20 }, onBadRecord: { skip: true } })));
  expect(value).toEqual([{ a: 1 }, { a: 3 }]);
  expect(counters["bad-records"]).toMatchObject({ sum: 1 });
});
