// Makes the files of fixtures/parquet: each program reads one file of ours and writes it in its own way, in every codec and page version that it has.
//   node --conditions=@marin/source --import tsx test/parquet/make-fixtures.ts
// DuckDB and parquet-wasm write here; pyarrow and Polars by the second step, which the command prints.
import { mkdir, rm } from "node:fs/promises";
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { DuckDBInstance } from "@duckdb/node-api";
import { tableToIPC } from "apache-arrow";
import { Compression, Table, WriterPropertiesBuilder, WriterVersion, writeParquet as writeWasm } from "parquet-wasm/node";
import { toArrowTable, writeParquet } from "../../src/index.js";
import { interopRows, interopSchema } from "./interop-table.js";

const directory = fileURLToPath(new URL("../fixtures/parquet/", import.meta.url));
await rm(directory, { recursive: true, force: true });
await mkdir(directory, { recursive: true });
const base = `${directory}base.parquet`;
await writeParquet(base, interopRows, { schema: interopSchema, compression: "uncompressed" });

const instance = await DuckDBInstance.create(":memory:", { threads: "1" });
const duckdb = await instance.connect();
for (const codec of ["uncompressed", "snappy", "gzip", "zstd", "brotli", "lz4_raw"]) {
  for (const version of ["V1", "V2"]) await duckdb.run(`COPY (SELECT * FROM read_parquet('${base}')) TO '${directory}duckdb-${codec}-${version.toLowerCase()}.parquet' (FORMAT parquet, COMPRESSION ${codec}, PARQUET_VERSION ${version})`);
}
duckdb.closeSync();

const arrow = tableToIPC(await toArrowTable(interopRows, interopSchema), "stream");
for (const codec of ["UNCOMPRESSED", "SNAPPY", "GZIP", "ZSTD", "BROTLI", "LZ4_RAW"] as const) {
  for (const [name, version] of [["v1", WriterVersion.V1], ["v2", WriterVersion.V2]] as const) {
    const properties = new WriterPropertiesBuilder().setCompression(Compression[codec]).setWriterVersion(version).build();
    writeFileSync(`${directory}parquet-wasm-${codec.toLowerCase()}-${name}.parquet`, writeWasm(Table.fromIPCStream(arrow), properties));
  }
}
console.log("python3 test/parquet/python.py write test/fixtures/parquet   # with pyarrow and polars installed");
