import type { MarinError, Storage } from "@marin/iris";
import type { ByteSource } from "../byte-source.js";
import type { ExprNode } from "../expr/types.js";
import type { ParquetSchema } from "../parquet/types.js";

/** A part of a file, in the unit of its format: bytes of JSON Lines, rows of Parquet. */
export interface FilePart {
  /** The first one. */
  readonly start: number;
  /** The one to stop before. */
  readonly end: number;
}

/** Pass over records that cannot be read, counting them. */
export interface SkipBadRecords {
  readonly skip: true;
  /** Most of them that the side file tells of. Default 100. */
  readonly sample?: number;
  /**
   * A JSON Lines file that tells of the first ones: `{ path, member?, line?, record?, offset?, code, message }` and how the
   * record begins, `text`, or `base64` where it is no text. It appears whole when the reading ends. Where several files or parts
   * are read, its name holds `{shard}` or `{basename}`. Default: none is written.
   */
  readonly sideFile?: string;
}

/** What becomes of a record that cannot be read: the error ends the work, or it is counted ("bad-records") and passed over. */
export type OnBadRecord = "fail" | SkipBadRecords;

/** Plain values that one format alone understands: `{ delimiter: ";" }`. */
export type FormatSettings = Readonly<Record<string, unknown>>;

/** How records are read, whatever their format. */
export interface ReadOptions {
  /** Where the file lies. Default: the running task's storage, or the process's own. */
  readonly storage?: Storage | undefined;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal | undefined;
  /** The name of the format: "jsonl", "csv". Default: by the ending of the file's name. */
  readonly format?: string | undefined;
  /** The fields to read. One that a line of JSON lacks is left out; a column that a file of any other kind lacks is an error. Default: all. */
  readonly columns?: readonly string[] | undefined;
  /** A hint: nobody looks at others of these fields, so that they may be left out unread (Parquet, Arrow). Default: `columns`. */
  readonly needed?: readonly string[] | undefined;
  /** Fields that somebody names, needed or not: what has no fields is a bad record, and a file of columns that lacks one of them is an error. Default: `columns`. */
  readonly named?: readonly string[] | undefined;
  /** A hint: records for which it is not true may be left out unread (Parquet). Who gives it still asks it of each record. */
  readonly filter?: ExprNode | undefined;
  /**
   * The columns of every record and their types, a contract: what is read gets these types, exactly, and a record that does not fit is a bad one.
   * Numbers and times of CSV are read from their texts. A column that a file lacks is null, where it is nullable. Of the columns those that `columns` asks for
   * are checked, all of them where it is not given. Default: values as the file has them.
   */
  readonly schema?: ParquetSchema | undefined;
  /** The name of a field that gets the file's path. One that the records have already is an error. Default: none. */
  readonly pathColumn?: string | undefined;
  /** Default "fail". */
  readonly onBadRecord?: OnBadRecord | undefined;
  /** Settings of the format's reader. */
  readonly settings?: FormatSettings | undefined;
  /** Whether a pattern among the settings may match nothing: the members of an archive. Default false: ZEPHYR_NO_FILES. */
  readonly emptyOk?: boolean | undefined;
}

/** A file, or a part of one, that will be read: plain data, so that it may travel to a worker. */
export interface SourceFile {
  /** The file. */
  readonly path: string;
  /** Its size in bytes, as it is stored. */
  readonly bytes: number;
  /** The format's name. */
  readonly format: string;
  /** The version that is meant. Another one is refused. Undefined: whatever is there. */
  readonly version?: string;
  /** The part. Undefined: the whole file. */
  readonly part?: FilePart;
  /** URL of the module that registers the format, where it is none of zephyr's own. */
  readonly module?: string;
  /** Where bad records are told. */
  readonly sideFile?: string;
}

/** Where a record is in its file. */
export interface RecordPosition {
  /** Its first line, from 1 up. */
  readonly line?: number | undefined;
  /** Its number among the file's records, from 1 up. */
  readonly record?: number | undefined;
  /** Its first byte, of the unpacked file. */
  readonly offset?: number | undefined;
  /** Where inside the file it is: a member's name. */
  readonly member?: string | undefined;
}

/** What a format's reader is given. */
export interface FormatInput {
  /** The file. */
  readonly path: string;
  /** Where it lies. */
  readonly storage: Storage;
  /** Aborts the reading. */
  readonly signal: AbortSignal | undefined;
  /** Opens the file for reading in parts. Undefined for what can only be read from beginning to end: packed files, members of archives. */
  readonly open: (() => Promise<ByteSource>) | undefined;
  /** The version that is meant, for reads that go past {@link FormatInput.chunks}. */
  readonly version: string | undefined;
  /** The part to read, as the format's `split` gave it. Undefined: the whole file. */
  readonly part: FilePart | undefined;
  /** The fields that somebody looks at, a hint for those that can spare work. */
  readonly columns: readonly string[] | undefined;
  /** Columns, and fields of structs in them, that a file has to have where it says which it has. */
  readonly required: readonly (readonly [column: string, ...fields: string[]])[];
  /** The field that will get the file's path: no column may be called so. */
  readonly pathColumn: string | undefined;
  /** The filter, a hint likewise. */
  readonly filter: ExprNode | undefined;
  /** The settings; only names that the format lists. */
  readonly settings: FormatSettings;
  /** Whether a pattern among the settings may match nothing. */
  readonly emptyOk: boolean;
  /** The file's bytes in order, unpacked, from `start` on where it is given and the file is not packed. */
  readonly chunks: (options?: { readonly start?: number }) => AsyncIterable<Buffer>;
  /**
   * Reports something that is no record. It throws the error, or counts and samples it: go on with the next record then.
   *
   * @param error - what is wrong; its message names file and place
   * @param sample - how it begins
   */
  readonly bad: (error: MarinError, sample: Uint8Array | string) => void;
  /**
   * What is to be yielded for a value: fields chosen, types checked, the path added. Undefined when the value is no such
   * record and was reported.
   */
  readonly record: (value: unknown, position: RecordPosition) => unknown;
}

/** How files of a kind are read: what {@link registerFormat} takes. */
export interface Format {
  /** "fasta". */
  readonly name: string;
  /** Endings of names, with the dot, lower case, without those of compressions: [".fa", ".fasta"]. */
  readonly endings: readonly string[];
  /** `import.meta.url` of the module that registers it, so that worker processes find it. Without it they must import that module themselves. */
  readonly module?: string;
  /** Names of the settings it takes. Default: none. */
  readonly settings?: readonly string[];
  /** Whether it reads parts of the file in any order, and so neither packed files nor members of archives. Default false. */
  readonly randomAccess?: boolean;
  /** Whether `read` gives only the columns asked for, where some are. Default false: the others are taken away behind it. */
  readonly projects?: boolean;
  /** Whether all values are text, which a schema turns into numbers and times. Default false. */
  readonly texts?: boolean;
  /** Whether `read` passes its values through `input.record`, to tell better positions. Default false: it is done for it, with the numbers of records. */
  readonly finishes?: boolean;
  /** The records, in order. It reads to the end or throws; it never ends silently early. */
  readonly read?: (input: FormatInput) => AsyncIterable<unknown>;
  /**
   * Instead of `read`: the records in groups, for formats that come to know many at once. A group is iterated, once, before the
   * next one is asked for; iterating it may throw.
   */
  readonly groups?: (input: FormatInput) => AsyncIterable<Iterable<unknown>>;
  /**
   * Parts of about so many bytes that together are the file. Default: a file is one part.
   *
   * @returns in order; undefined where the file cannot be split
   */
  readonly split?: (input: FormatInput, shardBytes: number) => Promise<readonly FilePart[] | undefined>;
}
