import { open, type FileHandle } from "node:fs/promises";
import { MarinError } from "@marin/iris";
import { z } from "zod";
import { elementCount } from "../engine/shape.js";
import type { Specs } from "../engine/types.js";

// The safetensors layout: uint64 header length, JSON header, then the tensors' bytes, all little-endian, in the header's order, without gaps.

const MAX_HEADER_BYTES = 100_000_000;
const PIECE_BYTES = 8 << 20;

const entrySchema = z.strictObject({
  dtype: z.literal("F32"),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});

/** The beginning of a safetensors file of float32 tensors, which follow in the order of `specs`. */
export function safetensorsHeader(specs: Specs): Uint8Array {
  const header: Record<string, z.infer<typeof entrySchema>> = {};
  let at = 0;
  for (const [name, spec] of Object.entries(specs)) {
    if (spec.dtype !== "float32") throw new TypeError(`tensor ${name}: only float32 is stored, not ${spec.dtype}`);
    const end = at + 4 * elementCount(spec.shape);
    header[name] = { dtype: "F32", shape: [...spec.shape], data_offsets: [at, end] };
    at = end;
  }
  // Padded with spaces so that tensors start at a multiple of 8 bytes.
  const json = Buffer.from(JSON.stringify(header), "utf8");
  const length = Math.ceil(json.length / 8) * 8;
  const bytes = Buffer.alloc(8 + length, " ");
  bytes.writeBigUInt64LE(BigInt(length));
  json.copy(bytes, 8);
  return bytes;
}

/**
 * Reads a safetensors file that holds exactly the tensors of `specs`, handing over one tensor at a time. The digest is not checked here: the values are
 * to be trusted only once someone has.
 *
 * @throws MarinError LEVANTER_CHECKPOINT_CORRUPT for a file of another size, or with other tensors
 */
export async function readSafetensors(path: string, specs: Specs, size: number, use: (name: string, values: Float32Array) => void): Promise<void> {
  const file = await open(path, "r").catch((cause: unknown) => {
    throw corruptFile(path, `${String(size)} bytes`, "no readable file", cause);
  });
  try {
    const { size: found } = await file.stat();
    if (found !== size) throw corruptFile(path, `${String(size)} bytes`, `${String(found)} bytes`);
    const header = await readHeader(file, path, size);
    requireHeader(path, header.entries, specs, size - header.bytes);
    let at = header.bytes;
    for (const [name, { shape }] of Object.entries(specs)) {
      const values = new Float32Array(elementCount(shape));
      await readFully(file, path, new Uint8Array(values.buffer), at);
      use(name, values);
      at += values.byteLength;
    }
  } finally {
    await file.close();
  }
}

/** The error for a file of a checkpoint that is not as it was written. */
export function corruptFile(file: string, expected: string, found: string, cause?: unknown): MarinError {
  return new MarinError(
    "LEVANTER_CHECKPOINT_CORRUPT",
    `${file} is damaged: expected ${expected}, found ${found}. Delete its directory to go on from the checkpoint before it.`,
    { data: { file, expected, found }, ...(cause === undefined ? {} : { cause }) },
  );
}

async function readHeader(file: FileHandle, path: string, size: number): Promise<{ bytes: number; entries: unknown }> {
  const prefix = Buffer.alloc(8);
  if (size < 8) throw corruptFile(path, "a safetensors header", `${String(size)} bytes`);
  await readFully(file, path, prefix, 0);
  const length = Number(prefix.readBigUInt64LE());
  if (length > Math.min(MAX_HEADER_BYTES, size - 8)) throw corruptFile(path, "a header within the file", `a header of ${String(length)} bytes`);
  const text = Buffer.alloc(length);
  await readFully(file, path, text, 8);
  try {
    return { bytes: 8 + length, entries: JSON.parse(text.toString("utf8")) as unknown };
  } catch (cause) {
    throw corruptFile(path, "a JSON header", "other bytes", cause);
  }
}

async function readFully(file: FileHandle, path: string, into: Uint8Array, position: number): Promise<void> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await file.read(into, at, Math.min(PIECE_BYTES, into.length - at), position + at);
    if (bytesRead === 0) throw corruptFile(path, `at least ${String(position + into.length)} bytes`, `${String(position + at)} bytes`);
    at += bytesRead;
  }
}

function requireHeader(path: string, entries: unknown, specs: Specs, dataBytes: number): void {
  const parsed = z.record(z.string(), entrySchema).safeParse(entries);
  if (!parsed.success) throw corruptFile(path, "float32 tensors", parsed.error.issues[0]?.message ?? "another header");
  const names = Object.keys(specs);
  const found = Object.keys(parsed.data);
  if (names.join("\n") !== found.join("\n")) throw corruptFile(path, `the tensors ${names.join(", ")}`, found.join(", "));
  let at = 0;
  for (const [name, { shape, data_offsets: offsets }] of Object.entries(parsed.data)) {
    const wanted = specs[name]?.shape ?? [];
    if (wanted.join() !== shape.join()) throw corruptFile(path, `${name} of shape [${wanted.join(", ")}]`, `[${shape.join(", ")}]`);
    const end = at + 4 * elementCount(shape);
    if (offsets[0] !== at || offsets[1] !== end) throw corruptFile(path, `${name} at bytes ${String(at)} to ${String(end)}`, offsets.join(" to "));
    at = end;
  }
  if (at !== dataBytes) throw corruptFile(path, `${String(at)} bytes of tensors`, String(dataBytes));
}
