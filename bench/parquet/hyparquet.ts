import { createWriteStream } from "node:fs";
import { open } from "node:fs/promises";
import { Decoder, Encoder } from "@toondepauw/node-zstd";
import { parquetMetadataAsync, parquetReadObjects } from "hyparquet";
import { ByteWriter, ParquetWriter, schemaFromColumnData } from "hyparquet-writer";
import type { Side } from "./sides.js";
import { COLUMNS, ROW_GROUP_ROWS, type Row } from "./workload.js";

const decoder = new Decoder();
const encoder = new Encoder(3);
const types = { int64: "INT64", string: "STRING", int32: "INT32", float64: "DOUBLE", float32: "FLOAT", "timestamp-micros": "INT64", boolean: "BOOLEAN" } as const;
const asBuffer = (bytes: Uint8Array): Buffer => Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

export const side: Side = {
  version: "hyparquet 1.33.0, hyparquet-writer 0.17.0",
  read: async (path, columns, each) => {
    const handle = await open(path);
    const { size } = await handle.stat();
    const file = {
      byteLength: size,
      slice: async (start: number, end = size): Promise<ArrayBuffer> => {
        const bytes = Buffer.allocUnsafeSlow(end - start);
        await handle.read(bytes, 0, bytes.length, start);
        return bytes.buffer as ArrayBuffer;
      },
    };
    const metadata = await parquetMetadataAsync(file);
    let rowStart = 0;
    for (const { num_rows: rows } of metadata.row_groups) {
      const rowEnd = rowStart + Number(rows);
      const found = await parquetReadObjects({ file, metadata, rowStart, rowEnd, compressors: { ZSTD: (bytes) => decoder.decodeSync(asBuffer(bytes)) }, ...(columns === undefined ? {} : { columns: [...columns] }) });
      found.forEach(each);
      rowStart = rowEnd;
    }
    await handle.close();
  },
  write: async (path, rows) => {
    const writer = new ByteWriter();
    const out = createWriteStream(path);
    const columns = (batch: readonly Row[]) => Object.entries(COLUMNS).map(([name, [type]]) => ({ name, type: types[type], nullable: false, data: batch.map((row) => row[name as keyof Row]) }));
    const file = new ParquetWriter({ writer, schema: schemaFromColumnData({ columnData: columns(rows.slice(0, 1)) }), codec: "ZSTD", compressors: { ZSTD: (bytes) => encoder.encodeSync(asBuffer(bytes)) } });
    const flush = (): Promise<void> => {
      const bytes = Uint8Array.from(writer.getBytes());
      writer.index = 0;
      return new Promise((resolve, reject) => out.write(bytes, (error) => (error ? reject(error) : resolve())));
    };
    for (let at = 0; at < rows.length; at += ROW_GROUP_ROWS) {
      void file.write({ columnData: columns(rows.slice(at, at + ROW_GROUP_ROWS)), rowGroupSize: ROW_GROUP_ROWS });
      await flush();
    }
    void file.finish();
    await flush();
    await new Promise<void>((resolve) => out.end(resolve));
  },
};
