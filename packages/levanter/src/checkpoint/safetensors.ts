import { createHash } from "node:crypto";
import { open, type FileHandle } from "node:fs/promises";
import { MarinError } from "@marin/iris";
import { z } from "zod";
import { elementCount } from "../engine/shape.js";
import type { Specs } from "../engine/types.js";

// The safetensors layout: uint64 header length, JSON header, then the tensors' bytes, all little-endian, in the header's order, without gaps.

const MAX_HEADER_BYTES = 100_000_000;
const PIECE_BYTES = 8 << 20;

/** Size and digest of a finished file. */
export interface FileDigest {
  /** Size in bytes. */
  readonly bytes: number;
  /** SHA-256 of the contents, hexadecimal. */
  readonly sha256: string;
}

const entrySchema = z.strictObject({
  dtype: z.literal("F32"),
  shape: z.array(z.int().nonnegative()),
  data_offsets: z.tuple([z.int().nonnegative(), z.int().nonnegative()]),
});

/**
 * Writes float32 tensors to a new safetensors file, in the order of `specs`, holding one tensor at a time. The file is flushed to the disk.
 *
 * @param read - gives a tensor's contents by name
 */
export async function writeSafetensors(path: string, specs: Specs, read: (name: string) => Promise<Float32Array>): Promise<FileDigest> {
  const header = encodeHeader(specs);
  const hash = createHash("sha256");
  let bytes = 0;
  const file = await open(path, "wx");
  try {
    const write = async (data: Uint8Array): Promise<void> => {
      for (let at = 0; at < data.length; ) {
        const { bytesWritten } = await file.write(data, at, Math.min(data.length - at, PIECE_BYTES));
        hash.update(data.subarray(at, at + bytesWritten));
        at += bytesWritten;
      }
      bytes += data.length;
    };
    await write(header);
    for (const [name, spec] of Object.entries(specs)) {
      const values = await read(name);
      if (values.length !== elementCount(spec.shape)) throw new RangeError(`tensor ${name}: ${String(values.length)} values for shape [${spec.shape.join(", ")}]`);
      await write(new Uint8Array(values.buffer, values.byteOffset, values.byteLength));
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { bytes, sha256: hash.digest("hex") };
}

/**
 * Reads a safetensors file that holds exactly the tensors of `specs`, handing over one tensor at a time, and checks size and digest on the way: the
 * values are to be trusted only once the call has returned. Throws `LEVANTER_CHECKPOINT_CORRUPT` for a shortened, altered or foreign file.
 */
export async function readSafetensors(path: string, specs: Specs, expected: FileDigest, use: (name: string, values: Float32Array) => void): Promise<void> {
  const file = await open(path, "r").catch((cause: unknown) => {
    throw corruptFile(path, `${String(expected.bytes)} bytes`, "no readable file", cause);
  });
  try {
    const { size } = await file.stat();
    if (size !== expected.bytes) throw corruptFile(path, `${String(expected.bytes)} bytes`, `${String(size)} bytes`);
    const hash = createHash("sha256");
    const header = await readHeader(file, path, size, (bytes) => hash.update(bytes));
    const problem = compareHeader(header.entries, specs, size - header.bytes);
    if (problem === undefined) {
      let at = header.bytes;
      for (const [name, { shape }] of Object.entries(specs)) {
        const values = new Float32Array(elementCount(shape));
        await readFully(file, path, new Uint8Array(values.buffer), at, (bytes) => hash.update(bytes));
        use(name, values);
        at += values.byteLength;
      }
    } else {
      await readFully(file, path, new Uint8Array(size - header.bytes), header.bytes, (bytes) => hash.update(bytes));
    }
    const found = hash.digest("hex");
    if (found !== expected.sha256) throw corruptFile(path, `SHA-256 ${expected.sha256}`, found);
    if (problem !== undefined) throw corruptFile(path, problem.expected, problem.found);
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

function encodeHeader(specs: Specs): Buffer {
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

type Observe = (bytes: Uint8Array) => void;

async function readHeader(file: FileHandle, path: string, size: number, observe: Observe): Promise<{ bytes: number; entries: unknown }> {
  const prefix = Buffer.alloc(8);
  if (size < 8) throw corruptFile(path, "a safetensors header", `${String(size)} bytes`);
  await readFully(file, path, prefix, 0, observe);
  const length = Number(prefix.readBigUInt64LE());
  if (length > Math.min(MAX_HEADER_BYTES, size - 8)) throw corruptFile(path, "a header within the file", `a header of ${String(length)} bytes`);
  const text = Buffer.alloc(length);
  await readFully(file, path, text, 8, observe);
  try {
    return { bytes: 8 + length, entries: JSON.parse(text.toString("utf8")) as unknown };
  } catch (cause) {
    throw corruptFile(path, "a JSON header", "other bytes", cause);
  }
}

async function readFully(file: FileHandle, path: string, into: Uint8Array, position: number, observe: Observe): Promise<void> {
  for (let at = 0; at < into.length; ) {
    const { bytesRead } = await file.read(into, at, Math.min(PIECE_BYTES, into.length - at), position + at);
    if (bytesRead === 0) throw corruptFile(path, `at least ${String(position + into.length)} bytes`, `${String(position + at)} bytes`);
    observe(into.subarray(at, at + bytesRead));
    at += bytesRead;
  }
}

function compareHeader(entries: unknown, specs: Specs, dataBytes: number): { expected: string; found: string } | undefined {
  const parsed = z.record(z.string(), entrySchema).safeParse(entries);
  if (!parsed.success) return { expected: "float32 tensors", found: parsed.error.issues[0]?.message ?? "another header" };
  const names = Object.keys(specs);
  const found = Object.keys(parsed.data);
  if (names.join("\n") !== found.join("\n")) return { expected: `the tensors ${names.join(", ")}`, found: found.join(", ") };
  let at = 0;
  for (const [name, { shape, data_offsets: offsets }] of Object.entries(parsed.data)) {
    const wanted = specs[name]?.shape ?? [];
    if (wanted.join() !== shape.join()) return { expected: `${name} of shape [${wanted.join(", ")}]`, found: `[${shape.join(", ")}]` };
    const end = at + 4 * elementCount(shape);
    if (offsets[0] !== at || offsets[1] !== end) return { expected: `${name} at bytes ${String(at)} to ${String(end)}`, found: offsets.join(" to ") };
    at = end;
  }
  return at === dataBytes ? undefined : { expected: `${String(at)} bytes of tensors`, found: String(dataBytes) };
}
