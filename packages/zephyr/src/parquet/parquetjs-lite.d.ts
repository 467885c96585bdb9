// The part of parquetjs-lite 0.8.7 that is used; the package has no types of its own.
declare module "parquetjs-lite" {
  interface Field {
    type: string;
    optional: boolean;
    compression: string;
    statistics: false;
  }
  interface Sink {
    write(bytes: Uint8Array, done: (error?: unknown) => void): void;
    end(done: (error?: unknown) => void): void;
  }
  class ParquetSchema {
    constructor(fields: Record<string, Field>);
  }
  class ParquetWriter {
    static openStream(schema: ParquetSchema, sink: Sink, options: { useDataPageV2: false }): Promise<ParquetWriter>;
    setRowGroupSize(rows: number): void;
    setMetadata(key: string, value: string): void;
    appendRow(row: Record<string, unknown>): Promise<void>;
    close(): Promise<void>;
  }
  class ParquetReader {
    static openBuffer(bytes: Buffer, options: { rawStatistics: true }): Promise<ParquetReader>;
    getCursor(columns: string[]): { next(): Promise<Record<string, unknown> | null> };
    close(): Promise<void>;
  }
  const library: {
    ParquetSchema: typeof ParquetSchema; ParquetWriter: typeof ParquetWriter; ParquetReader: typeof ParquetReader };
  export default library;
}
