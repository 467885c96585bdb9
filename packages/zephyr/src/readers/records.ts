import { MarinError, type Storage } from "@marin/iris";
import { JsonlReader } from "./jsonl.js";
import { ParquetReader } from "./parquet.js";
import { readTextFile } from "./text.js";

/** The kinds of files that {@link readRecords} reads. */
export type RecordFormat = "jsonl" | "text" | "parquet";

const formats: readonly (readonly [ending: string, format: RecordFormat])[] = [
  [".jsonl", "jsonl"],
  [".jsonl.gz", "jsonl"],
  [".txt", "text"],
  [".txt.gz", "text"],
  [".md", "text"],
  [".md.gz", "text"],
  [".parquet", "parquet"],
];

/** The endings that {@link readRecords} reads, for listings of files. */
export const recordExtensions: readonly string[] = formats.map(([ending]) => ending);

/** Settings of {@link readRecords}. */
export interface ReadRecordsOptions {
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal;
  /** Parquet: the columns to read. Default: all. Other formats take no notice. */
  readonly columns?: readonly string[];
}

/**
 * The kind of a file by its name's ending, upper or lower case alike.
 *
 * @throws MarinError ZEPHYR_UNKNOWN_FORMAT naming the endings that are read
 */
export function formatOf(path: string): RecordFormat {
  const found = formats.find(([ending]) => path.toLowerCase().endsWith(ending));
  if (found !== undefined) return found[1];
  throw new MarinError("ZEPHYR_UNKNOWN_FORMAT", `${path} is of no kind that is read: names end in ${recordExtensions.join(", ")}.`, { data: { path, extensions: recordExtensions } });
}

/**
 * The records of a file, in order, by the ending of its name: each line's value of .jsonl and .jsonl.gz; one record
 * `{ text }` for .txt, .md and their .gz forms; each row of .parquet. Can be iterated again.
 *
 * @param path - the file
 * @throws MarinError ZEPHYR_UNKNOWN_FORMAT at once; iterating throws what {@link JsonlReader}, {@link readTextFile} and
 * {@link ParquetReader} throw. A file is read to its end or an error is thrown: it never ends silently early.
 */
export function readRecords(path: string, options: ReadRecordsOptions = {}): AsyncIterable<unknown> {
  const format = formatOf(path);
  const { storage, signal, columns } = options;
  const common = { path, ...(storage === undefined ? {} : { storage }), ...(signal === undefined ? {} : { signal }) };
  switch (format) {
    case "jsonl":
      return new JsonlReader(common);
    case "parquet":
      return new ParquetReader({ ...common, ...(columns === undefined ? {} : { columns }) });
    case "text":
      return {
        async *[Symbol.asyncIterator]() {
          yield { text: await readTextFile(path, { storage, signal }) };
        },
      };
  }
}
