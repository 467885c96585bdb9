export { Dataset, type DatasetSource } from "./dataset.js";
export { listFiles, type ListedFile, type ListFilesOptions } from "./list-files.js";
export type { ParquetCompression, ParquetRecord, ParquetScalar, ParquetSchema, ParquetType, ParquetValue } from "./parquet/types.js";
export { JsonlReader, type JsonlReaderOptions } from "./readers/jsonl.js";
export { ParquetReader, type ParquetReaderOptions } from "./readers/parquet.js";
export { formatOf, readRecords, recordExtensions, type ReadRecordsOptions, type RecordFormat } from "./readers/records.js";
export { readTextFile } from "./readers/text.js";
export { JsonlWriter, writeJsonl, type JsonlSummary, type JsonlWriterOptions } from "./writers/jsonl.js";
export { ParquetWriter, writeParquet, type ParquetSummary, type ParquetWriterOptions } from "./writers/parquet.js";
