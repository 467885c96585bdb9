import { Data, RecordBatch, Struct, Table, tableFromIPC, tableToIPC, Vector, type DataType, type Schema, type TypeMap } from "apache-arrow";
import { transfer } from "../actors/transfer.js";

/** A column, or part of one: the memory of its values. */
interface PackedData {
  readonly length: number;
  readonly offset: number;
  readonly nullCount: number;
  /** Offsets, values, validity, type ids: those there are. */
  readonly buffers: readonly (ArrayBufferView | undefined)[];
  readonly children: readonly PackedData[];
  readonly dictionary: readonly PackedData[] | undefined;
}

/** A table as an argument, result or item of an actor: plain data, whose memory is handed over. Made by {@link packTable}. */
export interface PackedTable {
  /** An IPC message of the schema. */
  readonly schema: Uint8Array;
  readonly batches: readonly PackedData[];
}

/**
 * Makes a table ready to be sent: `await actor.load(packTable(table))`. Nothing is copied, neither here nor on the way to another thread. The table's memory
 * is gone here afterwards, and with it that of other tables and arrays that share it; to keep it, send `packTable(tableFromIPC(tableToIPC(table)))`.
 *
 * @param table - of apache-arrow
 */
export function packTable<T extends TypeMap>(table: Table<T>): PackedTable {
  const memory = new Set<ArrayBufferLike>();
  const pack = (data: Data): PackedData => ({
    length: data.length,
    offset: data.offset,
    nullCount: data.nullCount,
    buffers: [0, 1, 2, 3].map((place) => {
      const view = (data.buffers as unknown as readonly (ArrayBufferView | null | undefined)[])[place] ?? undefined;
      // Shared memory is nobody's alone: it is shared with the other thread as well.
      if (view !== undefined && view.buffer instanceof ArrayBuffer && view.byteLength > 0) memory.add(view.buffer);
      return view;
    }),
    children: (data.children as readonly Data[]).map(pack),
    dictionary: data.dictionary === undefined ? undefined : (data.dictionary.data as readonly Data[]).map(pack),
  });
  const packed = { schema: tableToIPC(new Table(table.schema)), batches: table.batches.map(({ data }) => pack(data as Data)) };
  return transfer(packed, [...memory]);
}

/**
 * The table that was packed, over the memory that arrived.
 *
 * @param packed - made by {@link packTable}
 */
export function unpackTable<T extends TypeMap>(packed: PackedTable): Table<T> {
  const schema = tableFromIPC(packed.schema).schema as unknown as Schema<T>;
  const type = new Struct<T>(schema.fields);
  return new Table<T>(schema, packed.batches.map((batch) => new RecordBatch<T>(schema, unpack(type, batch) as Data<Struct<T>>)));
}

function unpack(type: DataType, { length, offset, nullCount, buffers, children, dictionary }: PackedData): Data {
  const types = (type as { readonly children?: readonly { readonly type: DataType }[] | null }).children ?? [];
  const made = children.map((child, index) => unpack((types[index] as { readonly type: DataType }).type, child));
  const words = dictionary === undefined ? undefined : new Vector(dictionary.map((part) => unpack((type as unknown as { readonly dictionary: DataType }).dictionary, part)));
  return new Data(type, offset, length, nullCount, buffers as never, made, words as never);
}
