import type { FileHandle } from "node:fs/promises";
import { MarinError } from "@marin/iris";
import type { Field, RecordBatch } from "apache-arrow";
import { loadArrow } from "../arrow/library.js";
import { typeOfField, valueAt } from "../arrow/read.js";
import type { ByteSource } from "../byte-source.js";
import { ByteReader } from "../compression/byte-reader.js";
import type { Format, FormatInput } from "./format.js";
import { columnsToRead } from "./table-columns.js";

/** What an Arrow file begins and ends with; a stream has none. */
const mark = Buffer.from("ARROW1");

/** The end of a stream of messages: a continuation mark and no length. */
const endOfStream = Buffer.from("ffffffff00000000", "hex");

/** Arrow IPC, the file and the stream form (Feather 2 is the file form), packed with LZ4, zstd or not: each row is a record; one record batch is held in memory. */
export const arrowFormat: Format = {
  name: "arrow",
  endings: [".arrow", ".arrows", ".feather", ".ipc"],
  projects: true,
  async *groups(input) {
    const { path } = input;
    const library = await loadArrow();
    const tail = new Tail();
    const reader = new ByteReader(tail.watch(input.chunks()));
    try {
      const isFile = mark.equals(await reader.peek(mark.length));
      // A file has a table of contents at its end; a stream is read as it comes.
      const batches = isFile ? await library.RecordBatchReader.from(await fileOf(input, reader)) : await library.RecordBatchReader.from(restOf(reader));
      await batches.open();
      const { fields } = batches.schema;
      const isWanted = (name: string): boolean => input.columns?.includes(name) ?? true;
      const columns = columnsToRead(input, new Map(fields.map((field) => [field.name, isWanted(field.name) ? typeOfField(library, field as Field, field.name) : undefined])));
      const chosen = fields.map(({ name }, index) => ({ name, index })).filter(({ name }) => columns.includes(name));
      for await (const { data } of batches as AsyncIterable<RecordBatch>) {
        yield rowsOf(data.length, (row) => Object.fromEntries(chosen.map(({ name, index }) => [name, valueAt(library, data.children[index] as never, row)])));
      }
      if (!isFile && !endOfStream.equals(tail.bytes())) throw badArrow(path, reader.offset, "its end is missing: it was cut short");
    } catch (cause) {
      throw cause instanceof MarinError || !(cause instanceof Error) || cause.name === "AbortError" ? cause : badArrow(path, reader.offset, cause.message, cause);
    } finally {
      await reader.close();
    }
  },
};

function* rowsOf(count: number, rowAt: (row: number) => unknown): Generator {
  for (let row = 0; row < count; row += 1) yield rowAt(row);
}

/** The file as the library reads parts of it, or, where parts cannot be read, whole. */
async function fileOf({ path, open }: FormatInput, reader: ByteReader): Promise<FileHandle> {
  const source = (await open?.()) ?? heldSource(path, await reader.take(Infinity));
  // The library takes a file whose end is missing for a shorter one.
  const end = await source.read(Math.max(0, source.bytes - mark.length), source.bytes);
  if (!mark.equals(end)) throw badArrow(path, source.bytes, "its end is missing: it was cut short");
  const handle = {
    fd: 0,
    stat: () => Promise.resolve({ size: source.bytes }),
    read: async (buffer: Uint8Array, offset: number, length: number, position: number) => {
      const bytes = await source.read(position, position + length);
      buffer.set(bytes, offset);
      return { bytesRead: bytes.length, buffer };
    },
    close: () => Promise.resolve(),
  };
  return handle as unknown as FileHandle;
}

function heldSource(path: string, content: Buffer): Pick<ByteSource, "path" | "bytes" | "read"> {
  return { path, bytes: content.length, read: (start, end) => Promise.resolve(content.subarray(start, end)) };
}

/** Remembers the last bytes that went by. */
class Tail {
  #last = Buffer.alloc(0);

  async *watch(chunks: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    for await (const chunk of chunks) {
      this.#last = Buffer.concat([this.#last, chunk.subarray(-8)]).subarray(-8);
      yield chunk;
    }
  }

  bytes(): Buffer {
    return this.#last;
  }
}

async function* restOf(reader: ByteReader): AsyncGenerator<Uint8Array> {
  for (let bytes = await reader.take(1 << 18); bytes.length > 0; bytes = await reader.take(1 << 18)) yield bytes;
}

function badArrow(path: string, offset: number, reason: string, cause?: unknown): MarinError {
  return new MarinError("ZEPHYR_BAD_ARROW", `${path} is not a whole Arrow file, near byte ${String(offset)}: ${reason}.`, { data: { path, offset }, ...(cause === undefined ? {} : { cause }) });
}
