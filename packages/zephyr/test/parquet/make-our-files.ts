// Writes the exchanged rows in every codec and page version, and what they are, for `python.py read`:
//   node --conditions=@marin/source --import tsx test/parquet/make-our-files.ts DIRECTORY
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { type ParquetCompression, type ParquetValue, writeParquet } from "../../src/index.js";
import { interopRows, interopSchema } from "./interop-table.js";

const directory = process.argv[2] ?? ".";
for (const compression of ["uncompressed", "snappy", "gzip", "brotli", "zstd"] satisfies ParquetCompression[]) {
  for (const pageVersion of [1, 2] as const) {
    await writeParquet(join(directory, `zephyr-${compression}-v${String(pageVersion)}.parquet`), interopRows, { schema: interopSchema, compression, pageVersion, rowGroupRows: 4, pageRows: 2 });
  }
}
await writeParquet(join(directory, "zephyr-one-group.parquet"), interopRows, { schema: interopSchema });

function plain(value: ParquetValue, column: string): unknown {
  if (value === null || typeof value === "boolean" || typeof value === "string") return value;
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number") return column === "int" || column === "x" ? String(value) : pythonFloat(value);
  if (value instanceof Date) return value.toISOString().slice(0, 10);
  if (value instanceof Uint8Array) return Buffer.from(value).toString("hex");
  if (value instanceof Map) return [...value].map(([key, item]) => [plain(key as ParquetValue, ""), plain(item as ParquetValue, "")]);
  if (Array.isArray(value)) return value.map((item) => plain(item as ParquetValue, column));
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, plain(item as ParquetValue, name)]));
}

/** As Python writes it. */
function pythonFloat(value: number): string {
  if (Object.is(value, -0)) return "-0.0";
  return Number.isInteger(value) && Math.abs(value) < 1e16 ? value.toFixed(1) : String(value).replace(/e([+-])(\d)$/, "e$10$2");
}

writeFileSync(join(directory, "expected.json"), JSON.stringify(interopRows.map((row) => Object.fromEntries(Object.entries(row).map(([name, value]) => [name, plain(value, name)])))));
