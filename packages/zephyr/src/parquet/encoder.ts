import type { WholeFile } from "../writers/whole-file.js";
import type { ParquetEncoder, ParquetEncoderOptions } from "./codec.js";
import type { SchemaElement, SchemaNode } from "./format.js";
import { schemaTree } from "./metadata.js";
import { metadataBytes, type WrittenColumn, type WrittenGroup } from "./metadata-writer.js";
import { encodeChunk, type EncodedChunk, type Leaf } from "./page-writer.js";
import { schemaElements, typeOf } from "./schema.js";
import { shred } from "./shred.js";
import { storedFormOf } from "./stored-form.js";

const mark = Buffer.from("PAR1");

/** Writes every type, with page checksums and page indexes. */
export class ZephyrEncoder implements ParquetEncoder {
  readonly #options: ParquetEncoderOptions;
  readonly #elements: readonly SchemaElement[];
  readonly #root: SchemaNode;
  readonly #leaves: readonly Leaf[];
  readonly #groups: WrittenGroup[] = [];
  readonly #indexed: { readonly column: WrittenColumn; readonly indexes: NonNullable<ReturnType<EncodedChunk["indexes"]>> }[] = [];
  #at = 0;

  /** @throws MarinError ZEPHYR_BAD_SCHEMA */
  constructor(options: ParquetEncoderOptions) {
    this.#options = options;
    this.#elements = schemaElements(options.schema);
    const { root, leaves } = schemaTree(this.#elements);
    this.#root = root;
    this.#leaves = leaves.map((node) => {
      const type = typeOf({ ...node, element: { ...node.element, repetition: "REQUIRED" } });
      return { node, form: storedFormOf(node.element, type) };
    });
  }

  stored(row: unknown[]): unknown[] {
    return row;
  }

  async rowGroup(file: WholeFile, rows: readonly (readonly unknown[])[]): Promise<void> {
    const parts: Uint8Array[] = this.#at === 0 ? [mark] : [];
    this.#at += this.#at === 0 ? mark.length : 0;
    const start = this.#at;
    const columns = this.#root.children.flatMap((node, index) =>
      shred(node, rows.map((row) => row[index])).map((shredded, leaf) => {
        const chunk = encodeChunk(this.#leaves[node.firstLeaf + leaf] as Leaf, shredded, this.#options);
        const begin = this.#at;
        parts.push(...chunk.parts);
        this.#at += chunk.packed;
        const column: WrittenColumn = { metadata: chunk.metadata(begin), packed: chunk.packed, unpacked: chunk.unpacked };
        const indexes = chunk.indexes(begin);
        if (indexes !== undefined) this.#indexed.push({ column, indexes });
        return column;
      }),
    );
    this.#groups.push({ rows: rows.length, start, columns });
    await file.write(Buffer.concat(parts));
  }

  async finish(file: WholeFile): Promise<void> {
    const parts: Uint8Array[] = this.#at === 0 ? [mark] : [];
    this.#at += this.#at === 0 ? mark.length : 0;
    const put = (bytes: Uint8Array): { readonly start: number; readonly bytes: number } => {
      parts.push(bytes);
      this.#at += bytes.length;
      return { start: this.#at - bytes.length, bytes: bytes.length };
    };
    // All bounds lie together, and then all places: who looks for rows reads them in two pieces.
    for (const { column, indexes } of this.#indexed) if (indexes.bounds !== undefined) column.columnIndex = put(indexes.bounds);
    for (const { column, indexes } of this.#indexed) column.offsetIndex = put(indexes.offsets);
    const metadata = metadataBytes({ elements: this.#elements, leaves: this.#leaves.length, groups: this.#groups, notes: this.#options.notes(), version: this.#options.pageVersion });
    const length = Buffer.allocUnsafe(4);
    length.writeUInt32LE(metadata.length);
    await file.write(Buffer.concat([...parts, metadata, length, mark]));
  }
}
