// The names and structures of a Parquet file's table of contents (Apache Parquet format 2.11, parquet.thrift).

/** How values are stored, by their number in the file. */
export const physicalTypes = ["BOOLEAN", "INT32", "INT64", "INT96", "FLOAT", "DOUBLE", "BYTE_ARRAY", "FIXED_LEN_BYTE_ARRAY"] as const;
export type PhysicalType = (typeof physicalTypes)[number];

/** How pages hold their values, by their number in the file. */
export const encodingNames = [
  "PLAIN",
  "GROUP_VAR_INT",
  "PLAIN_DICTIONARY",
  "RLE",
  "BIT_PACKED",
  "DELTA_BINARY_PACKED",
  "DELTA_LENGTH_BYTE_ARRAY",
  "DELTA_BYTE_ARRAY",
  "RLE_DICTIONARY",
  "BYTE_STREAM_SPLIT",
  "ALP",
] as const;

/** How pages are packed, by their number in the file. */
export const codecNames = ["UNCOMPRESSED", "SNAPPY", "GZIP", "LZO", "BROTLI", "LZ4", "ZSTD", "LZ4_RAW"] as const;
export type CodecName = (typeof codecNames)[number];

/** The old annotations, by their number in the file. */
export const convertedTypes = [
  "UTF8",
  "MAP",
  "MAP_KEY_VALUE",
  "LIST",
  "ENUM",
  "DECIMAL",
  "DATE",
  "TIME_MILLIS",
  "TIME_MICROS",
  "TIMESTAMP_MILLIS",
  "TIMESTAMP_MICROS",
  "UINT_8",
  "UINT_16",
  "UINT_32",
  "UINT_64",
  "INT_8",
  "INT_16",
  "INT_32",
  "INT_64",
  "JSON",
  "BSON",
  "INTERVAL",
] as const;
export type ConvertedType = (typeof convertedTypes)[number];

export const repetitions = ["REQUIRED", "OPTIONAL", "REPEATED"] as const;
export type Repetition = (typeof repetitions)[number];

export const timeUnits = ["MILLIS", "MICROS", "NANOS"] as const;

/** A new annotation. */
export type LogicalType =
  | { readonly kind: "STRING" | "MAP" | "LIST" | "ENUM" | "DATE" | "NULL" | "JSON" | "BSON" | "UUID" | "FLOAT16" | "VARIANT" | "GEOMETRY" | "GEOGRAPHY" }
  | { readonly kind: "DECIMAL"; readonly precision: number; readonly scale: number }
  | { readonly kind: "TIME" | "TIMESTAMP"; readonly unit: (typeof timeUnits)[number]; readonly utc: boolean }
  | { readonly kind: "INTEGER"; readonly bits: number; readonly signed: boolean };

/** One element of the file's schema, which lists a tree from its root on, children after their parent. */
export interface SchemaElement {
  readonly name: string;
  readonly repetition: Repetition;
  /** Of a column that holds values. */
  readonly physical?: PhysicalType;
  /** Bytes of a FIXED_LEN_BYTE_ARRAY. */
  readonly length?: number;
  /** How many elements stand right below this one. */
  readonly children?: number;
  readonly converted?: ConvertedType;
  readonly logical?: LogicalType;
  readonly precision?: number;
  readonly scale?: number;
}

/** An element with what stands below it. */
export interface SchemaNode {
  readonly element: SchemaElement;
  /** Names from the top on. */
  readonly path: readonly string[];
  readonly children: readonly SchemaNode[];
  /** The definition level at which this node is there. */
  readonly definition: number;
  /** How many repeated nodes stand from the top down to this one. */
  readonly repetition: number;
  /** The first of the columns of values below it, or itself. */
  readonly firstLeaf: number;
  /** How many there are. */
  readonly leaves: number;
}

/** Bounds as they are stored. */
export interface StoredStatistics {
  readonly min?: Uint8Array;
  readonly max?: Uint8Array;
  readonly nulls?: number;
}

/** A part of the file, from `start` up to, not including, `end`. */
export interface ByteRange {
  readonly start: number;
  readonly end: number;
}

/** A column in a row group. */
export interface ColumnChunk {
  readonly path: readonly string[];
  readonly physical: PhysicalType;
  /** Its number in {@link codecNames}; others are possible. */
  readonly codec: number;
  /** Entries, nulls and empty lists among them. */
  readonly values: number;
  /** What its pages take unpacked, headers included. */
  readonly unpackedBytes: number;
  /** Its pages, the dictionary first. */
  readonly range: ByteRange;
  /** Where its first page of values begins. */
  readonly dataStart: number;
  readonly statistics: StoredStatistics | undefined;
  /** Where its pages lie. */
  readonly offsetIndex: ByteRange | undefined;
  /** The bounds of its pages. */
  readonly columnIndex: ByteRange | undefined;
}

/** A row group. */
export interface RowGroup {
  readonly rows: number;
  /** In the order of the schema's leaves. */
  readonly columns: readonly ColumnChunk[];
}

/** The table of contents. */
export interface FileMetadata {
  readonly root: SchemaNode;
  /** The nodes that hold values. */
  readonly leaves: readonly SchemaNode[];
  readonly rows: number;
  readonly groups: readonly RowGroup[];
  readonly notes: Readonly<Record<string, string>>;
}
