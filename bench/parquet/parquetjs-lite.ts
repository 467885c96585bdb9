import type { Side } from "./sides.js";

interface Library {
  readonly ParquetReader: {
    openFile(path: string): Promise<{ getCursor(columns?: readonly string[]): { next(): Promise<Record<string, unknown> | null> }; close(): Promise<void> }>;
  };
}

// @ts-expect-error -- the package has no types
const { default: library } = (await import("parquetjs-lite")) as { readonly default: Library };

export const side: Side = {
  version: "parquetjs-lite 0.8.7",
  read: async (path, columns, each) => {
    const reader = await library.ParquetReader.openFile(path.replace(/\.parquet$/, ".snappy.parquet"));
    const cursor = reader.getCursor(columns);
    for (let row = await cursor.next(); row !== null; row = await cursor.next()) each(row);
    await reader.close();
  },
};
