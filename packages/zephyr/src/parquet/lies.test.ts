import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ParquetReader } from "../readers/parquet.js";
import { writeParquet } from "../writers/parquet.js";
import { codecNames } from "./format.js";
import { metadataBytes } from "./metadata-writer.js";
import { thriftBytes, type ThriftFields } from "./thrift.js";

let directory: string;
let path: string;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "zephyr-lies-"));
  path = join(directory, "a.parquet");
});
afterAll(() => rm(directory, { recursive: true }));

async function read(): Promise<unknown[]> {
  const rows = [];
  for await (const row of new ParquetReader({ path })) rows.push(row);
  return rows;
}

/** What a small file of one column with one page may say wrongly. */
interface Lies {
  readonly rows?: number;
  readonly values?: number;
  readonly codec?: (typeof codecNames)[number];
  readonly body?: Uint8Array;
  /** Of the page, as its header says. */
  readonly length?: number;
  readonly pageValues?: number;
  readonly unpacked?: number;
  readonly packed?: number;
  readonly metadata?: (honest: Uint8Array) => Uint8Array;
}

/** Writes a file of the 32-bit numbers 1, 2 and 3, with lies. */
async function write({ rows = 3, values = rows, codec = "UNCOMPRESSED", body = new Uint8Array(Int32Array.of(1, 2, 3).buffer), length = 12, pageValues = values, ...lies }: Lies): Promise<void> {
  const page: ThriftFields = [
    [1, { i32: pageValues }],
    [2, { i32: 0 }],
    [3, { i32: 3 }],
    [4, { i32: 3 }],
  ];
  const header = thriftBytes([
    [1, { i32: 0 }],
    [2, { i32: length }],
    [3, { i32: body.length }],
    [5, { struct: page }],
  ]);
  const packed = lies.packed ?? header.length + body.length;
  const unpacked = lies.unpacked ?? header.length + Math.max(12, length);
  const column: ThriftFields = [
    [1, { i32: 1 }],
    [2, { list: "i32", items: [0] }],
    [3, { list: "binary", items: ["x"] }],
    [4, { i32: codecNames.indexOf(codec) }],
    [5, { i64: values }],
    [6, { i64: unpacked }],
    [7, { i64: packed }],
    [9, { i64: 4 }],
  ];
  const honest = metadataBytes({
    elements: [
      { name: "schema", repetition: "REQUIRED", children: 1 },
      { name: "x", repetition: "REQUIRED", physical: "INT32" },
    ],
    leaves: 1,
    groups: [{ rows, start: 4, columns: [{ metadata: column, packed, unpacked }] }],
    notes: {},
    version: 1,
  });
  const metadata = lies.metadata?.(honest) ?? honest;
  const size = Buffer.alloc(4);
  size.writeUInt32LE(metadata.length);
  await writeFile(path, Buffer.concat([Buffer.from("PAR1"), header, body, metadata, size, Buffer.from("PAR1")]));
}

test("an honest file made by this test is read", async () => {
  await write({});
  expect(await read()).toEqual([{ x: 1 }, { x: 2 }, { x: 3 }]);
  await write({ codec: "GZIP", body: gzipSync(new Uint8Array(Int32Array.of(1, 2, 3).buffer)) });
  expect(await read()).toHaveLength(3);
});

/** A list of so many structs, and nothing in it. */
const hugeList = Uint8Array.of(0x15, 0x02, 0x19, 0xfc, 0xff, 0xff, 0xff, 0xff, 0x07);
const snappyOf = (length: number): Uint8Array => Uint8Array.of(length & 127 | 128, (length >> 7) & 127 | 128, (length >> 14) & 127 | 128, (length >> 21) & 127 | 128, length >> 28, 0);

test.each<[string, Lies, string]>([
  ["a row group of a thousand million rows", { rows: 1e9 }, "1000000000 values stand where 12 bytes are left"],
  ["more rows than doubles count", { rows: 2 ** 53 }, "is 9007199254740992"],
  ["a page of more values than its column", { pageValues: 2e9 }, "2000000000 values where 3 are left"],
  ["fewer values than rows", { rows: 4, values: 3 }, "fewer than the 4 rows"],
  ["a page that unpacks to 2 GB", { length: 2 ** 31 - 1, unpacked: 50, codec: "GZIP" }, "its whole column to 50"],
  ["gzip that would unpack to more than the page says", { codec: "GZIP", body: gzipSync(new Uint8Array(1e7)), length: 12 }, "cannot be decoded"],
  ["snappy that says 2 GB", { codec: "SNAPPY", body: snappyOf(2 ** 31 - 1), length: 12 }, "unpacks to 2147483647 bytes, and its header says 12"],
  ["snappy whose page header says 2 GB as well", { codec: "SNAPPY", body: snappyOf(2 ** 31 - 1), length: 2 ** 31 - 1 }, "cannot unpack to the 2147483647 bytes"],
  ["LZ4 that says 2 GB", { codec: "LZ4_RAW", body: Uint8Array.of(0, 0), length: 2 ** 31 - 1 }, "cannot unpack to the 2147483647 bytes"],
  ["a column beyond the file's end", { packed: 1e12 }, "should end at byte 1000000000004"],
  ["a schema of 2,000 million columns", { metadata: () => hugeList }, "a list of 2147483647 items"],
  ["a table of contents that ends in the middle", { metadata: (honest) => honest.slice(0, honest.length / 2) }, "table of contents does not fit together"],
])("a file that lies: %s is refused before memory is taken for it", async (_what, lies, message) => {
  await write(lies);
  const before = process.memoryUsage().rss;
  const failure: unknown = await read().catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "ZEPHYR_BAD_PARQUET", data: { path, offset: expect.any(Number) as number } });
  expect((failure as Error).message).toContain(message);
  expect(process.memoryUsage().rss - before).toBeLessThan(100e6);
});

test("a table of contents that is said to be longer than the file", async () => {
  await write({});
  const bytes = await readFile(path);
  bytes.writeUInt32LE(0xffff_fff0, bytes.length - 8);
  await writeFile(path, bytes);
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_BAD_PARQUET", message: expect.stringContaining("4294967280 bytes") as string });
});

test("unknown codecs and encodings are named, with the column", async () => {
  await write({ codec: "LZO" });
  await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_PARQUET_UNSUPPORTED", data: { path, column: "x", codec: "LZO" } });
  await write({});
  const honest = await readFile(path);
  const encoding = Buffer.from([0x15, 0x00, 0x15, 0x06, 0x15, 0x06, 0x00, 0x00]);
  const at = honest.indexOf(encoding) + 1;
  for (const [number, name] of [
    [10, "ALP"],
    [31, "number 31"],
  ] as const) {
    honest[at] = 2 * number;
    await writeFile(path, honest);
    await expect(read()).rejects.toMatchObject({ code: "ZEPHYR_PARQUET_UNSUPPORTED", message: `${path}: column x: the encoding ${name} is not read.` });
  }
});

test("page checksums: whatever bit of a page flips, it is an error and never another value", async () => {
  const rows = Array.from({ length: 300 }, (_, index) => ({ id: BigInt(index) * 3n, score: Math.sin(index) }));
  await writeParquet(path, rows, { schema: { id: "int64", score: "float64" }, compression: "uncompressed", pageRows: 100 });
  const whole = await readFile(path);
  // The pages' values: 2 columns of 2400 bytes, and between them only headers.
  let refused = 0;
  for (let at = 60; at < 4800; at += 41) {
    const damaged = Buffer.from(whole);
    damaged[at] = (damaged[at] ?? 0) ^ (1 << (at % 8));
    await writeFile(path, damaged);
    const result = await read().catch((error: unknown) => error);
    if (Array.isArray(result)) expect(result).toEqual(rows);
    else refused += 1;
  }
  expect(refused).toBeGreaterThan(95);
});
