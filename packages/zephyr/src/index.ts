export { Dataset, type DatasetSource } from "./dataset.js";
export { listFiles, type ListedFile, type ListFilesOptions } from "./list-files.js";
export { JsonlReader, type JsonlReaderOptions } from "./readers/jsonl.js";
export { readTextFile } from "./readers/text.js";
export { JsonlWriter, writeJsonl, type JsonlSummary } from "./writers/jsonl.js";
