// The part of parquetjs-lite 0.8.7 that is used; the package has no types of its own. Not an ambient declaration: who compiles this package from its source would not see it.

interface Sink {
  write(bytes: Uint8Array, done: (error?: unknown) => void): void;
  end(done: (error?: unknown) => void): void;
}

interface Schema {
  readonly schema: unknown;
}

/** Writes a file row by row. */
export interface LiteWriter {
  setRowGroupSize(rows: number): void;
  setMetadata(key: string, value: string): void;
  appendRow(row: Record<string, unknown>): Promise<void>;
  close(): Promise<void>;
}

interface LiteReader {
  getCursor(columns: string[]): { next(): Promise<Record<string, unknown> | null> };
}

interface Library {
  ParquetSchema: new (fields: Record<string, { type: string; optional: boolean; compression: string; statistics: false }>) => Schema;
  ParquetWriter: { openStream(schema: Schema, sink: Sink, options: { useDataPageV2: false }): Promise<LiteWriter> };
  ParquetReader: { openBuffer(bytes: Buffer, options: { rawStatistics: true }): Promise<LiteReader> };
}

/** Loads the library. */
export async function loadLite(): Promise<Library> {
  // @ts-expect-error -- the package has no types
  const module = (await import("parquetjs-lite")) as { readonly default: Library };
  return module.default;
}
