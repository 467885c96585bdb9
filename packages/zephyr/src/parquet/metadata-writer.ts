import { convertedTypes, type LogicalType, physicalTypes, repetitions, type SchemaElement, timeUnits } from "./format.js";
import { type ThriftField, type ThriftFields, thriftBytes } from "./thrift.js";

/** A row group, as the table of contents tells it. */
export interface WrittenGroup {
  readonly rows: number;
  readonly start: number;
  readonly columns: readonly WrittenColumn[];
}

/** A column of one. */
export interface WrittenColumn {
  readonly metadata: ThriftFields;
  readonly packed: number;
  readonly unpacked: number;
  /** Filled in when the indexes stand behind the data. */
  offsetIndex?: { readonly start: number; readonly bytes: number };
  columnIndex?: { readonly start: number; readonly bytes: number };
}

/** A table of contents (Apache Parquet format, parquet.thrift, FileMetaData). */
export function metadataBytes(file: {
  readonly elements: readonly SchemaElement[];
  readonly leaves: number;
  readonly groups: readonly WrittenGroup[];
  readonly notes: Readonly<Record<string, string>>;
  readonly version: number;
}): Uint8Array {
  const notes = Object.entries(file.notes);
  return thriftBytes([
    [1, { i32: file.version }],
    [2, { list: "struct", items: file.elements.map(schemaElement) }],
    [3, { i64: file.groups.reduce((sum, { rows }) => sum + rows, 0) }],
    [4, { list: "struct", items: file.groups.map(rowGroup) }],
    [5, notes.length === 0 ? undefined : { list: "struct", items: notes.map(([key, value]): ThriftFields => [[1, { binary: key }], [2, { binary: value }]]) }],
    [6, { binary: "marin-zephyr version 0.1.0" }],
    // Bounds are in the order of the columns' types.
    [7, { list: "struct", items: Array.from({ length: file.leaves }, (): ThriftFields => [[1, { struct: [] }]]) }],
  ]);
}

function schemaElement({ name, repetition, physical, length, children, converted, logical, precision, scale }: SchemaElement, index: number): ThriftFields {
  const i32 = (value: number | undefined): ThriftField | undefined => (value === undefined ? undefined : { i32: value });
  return [
    [1, physical === undefined ? undefined : { i32: physicalTypes.indexOf(physical) }],
    [2, i32(length)],
    // The root is the file itself, which does not repeat.
    [3, index === 0 ? undefined : { i32: repetitions.indexOf(repetition) }],
    [4, { binary: name }],
    [5, i32(children)],
    [6, converted === undefined ? undefined : { i32: convertedTypes.indexOf(converted) }],
    [7, i32(scale)],
    [8, i32(precision)],
    [10, logical === undefined ? undefined : { struct: [annotation(logical)] }],
  ];
}

const plainIds = { STRING: 1, MAP: 2, LIST: 3, ENUM: 4, DATE: 6, NULL: 11, JSON: 12, BSON: 13, UUID: 14, FLOAT16: 15, VARIANT: 16, GEOMETRY: 17, GEOGRAPHY: 18 } as const;

function annotation(logical: LogicalType): readonly [number, ThriftField] {
  switch (logical.kind) {
    case "DECIMAL":
      return [5, { struct: [[1, { i32: logical.scale }], [2, { i32: logical.precision }]] }];
    case "TIME":
    case "TIMESTAMP":
      return [logical.kind === "TIME" ? 7 : 8, { struct: [[1, { bool: logical.utc }], [2, { struct: [[timeUnits.indexOf(logical.unit) + 1, { struct: [] }]] }]] }];
    case "INTEGER":
      return [10, { struct: [[1, { i8: logical.bits }], [2, { bool: logical.signed }]] }];
    default:
      return [plainIds[logical.kind], { struct: [] }];
  }
}

function rowGroup({ rows, start, columns }: WrittenGroup, index: number): ThriftFields {
  const sum = (of: (column: WrittenColumn) => number): ThriftField => ({ i64: columns.reduce((total, column) => total + of(column), 0) });
  return [
    [1, { list: "struct", items: columns.map(columnChunk) }],
    [2, sum(({ unpacked }) => unpacked)],
    [3, { i64: rows }],
    [5, { i64: start }],
    [6, sum(({ packed }) => packed)],
    // Its number has 16 bits.
    [7, index < 2 ** 15 ? { i16: index } : undefined],
  ];
}

function columnChunk({ metadata, offsetIndex, columnIndex }: WrittenColumn): ThriftFields {
  return [
    // Of no use any more, and 0 by the format's advice.
    [2, { i64: 0 }],
    [3, { struct: metadata }],
    [4, offsetIndex && { i64: offsetIndex.start }],
    [5, offsetIndex && { i32: offsetIndex.bytes }],
    [6, columnIndex && { i64: columnIndex.start }],
    [7, columnIndex && { i32: columnIndex.bytes }],
  ];
}
