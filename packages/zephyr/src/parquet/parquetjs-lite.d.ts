// The part of parquetjs-lite 0.8.7 that is used; the package has no types of its own.
declare module "parquetjs-lite" {
  interface Sink {
    write(bytes: Uint8Array, done: (error?: unknown) => void): void;
    end(done: (error?: unknown) => void): void;
  }
  interface Schema {
    readonly schema: unknown;
  }
  interface Writer {
    setRowGroupSize(rows: number): void;
    setMetadata(key: string, value: string): void;
    appendRow(row: Record<string, unknown>): Promise<void>;
    close(): Promise<void>;
  }
  interface Reader {
    getCursor(columns: string[]): { next(): Promise<Record<string, unknown> | null> };
  }
  const library: {
    ParquetSchema: new (fields: Record<string, { type: string; optional: boolean; compression: string; statistics: false }>) => Schema;
    ParquetWriter: { openStream(schema: Schema, sink: Sink, options: { useDataPageV2: false }): Promise<Writer> };
    ParquetReader: { openBuffer(bytes: Buffer, options: { rawStatistics: true }): Promise<Reader> };
  };
  // eslint-disable-next-line no-restricted-syntax -- the form of a CommonJS module
  export default library;
}
