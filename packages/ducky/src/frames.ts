import { Packr, RESERVE_START_SPACE } from "msgpackr";
import type { Method } from "./contract.js";
import { MarinError } from "./errors.js";
import { countValues, maxValues } from "./value-count.js";

/** What a frame is; the first element of the array that travels. The caller sends those up to `inputEnd`, the other end the rest. */
export const frameKinds = { call: 0, cancel: 1, credit: 2, input: 3, inputEnd: 4, result: 5, error: 6, item: 7, end: 8, inputCredit: 9 } as const;

/** The kinds of methods as they travel. */
export const methodKinds: readonly Method["kind"][] = ["unary", "serverStream", "clientStream", "bidiStream"];

/** One message between two connections. `id` names a call, counted up by the caller from 1. */
export type Frame =
  /** `window` is the bytes of items of the answer that may be under way; 0 for a method with one answer. `input` is null where a stream of it follows. */
  | {
      readonly kind: typeof frameKinds.call;
      readonly id: number;
      readonly service: string;
      readonly method: string;
      /** Place in {@link methodKinds}. */
      readonly methodKind: number;
      readonly input: unknown;
      readonly timeoutMs: number | null;
      readonly window: number;
    }
  | { readonly kind: typeof frameKinds.cancel; readonly id: number; readonly reason: unknown }
  | Numbered<"credit" | "inputCredit", { readonly bytes: number }>
  | Numbered<"input" | "item" | "result", { readonly value: unknown }>
  | Numbered<"error", { readonly error: unknown }>
  | Numbered<"inputEnd" | "end", object>;

type Numbered<K extends keyof typeof frameKinds, Fields> = K extends unknown ? { readonly kind: (typeof frameKinds)[K]; readonly id: number } & Fields : never;

/** A frame that a caller sends. */
export type CallerFrame = Extract<Frame, { readonly kind: 0 | 1 | 2 | 3 | 4 }>;

/** A frame that answers a call. */
export type AnswerFrame = Extract<Frame, { readonly kind: 5 | 6 | 7 | 8 | 9 }>;

const settings = {
  moreTypes: true,
  structuredClone: false,
  useToJSON: false,
  useBigIntExtension: true,
  writeFunction: () => {
    throw new TypeError("a function has no form on the wire");
  },
} as const;

/** Objects as MessagePack's maps: twice as fast as records without a shared table, but a `Map` would arrive as an object. */
const plain = new Packr({ ...settings, useRecords: false, mapsAsObjects: true });
let sawMap = false;
// Asked of the codec exactly when it meets a Map.
Object.defineProperty(plain, "mapAsEmptyObject", {
  get: () => {
    sawMap = true;
    return true;
  },
});

/** Objects as records, each frame with a table of its own: for frames in which there are Maps as well. */
const records = new Packr({ ...settings, useRecords: true });

/** A frame begins with its length without these bytes; the two highest bits say whether it is one of records, or one of plain bytes. */
export const headerBytes = 4;
const recordsBit = 0x8000_0000;
const bytesBit = 0x4000_0000;

/** What the length of a frame can be at most. */
export const longestFrame = bytesBit - 1;

/** Values of so many plain bytes travel as they are, after the rest of their frame: neither end passes them through the codec. */
const leastPlainBytes = 4_096;

/** Frames smaller than this cannot hold more values than are allowed. */
const uncountedBytes = maxValues;

/**
 * The bytes of a frame, header included.
 *
 * @throws whatever the codec throws at a value it has no form for (functions, symbols)
 */
export function encodeFrame(frame: Frame): Uint8Array {
  if ("value" in frame && frame.value instanceof Uint8Array && frame.value.constructor === Uint8Array && frame.value.length >= leastPlainBytes) return encodeBytes(frame, frame.value);
  const fields = fieldsOf(frame);
  sawMap = false;
  let bytes = plain.pack(fields, RESERVE_START_SPACE | headerBytes);
  const asRecords = sawMap;
  if (asRecords) bytes = records.pack(fields, RESERVE_START_SPACE | headerBytes);
  const length = bytes.length - headerBytes;
  if (length > uncountedBytes && countValues(bytes, headerBytes, bytes.length) > maxValues) {
    throw new RangeError(`it holds more than ${maxValues} single values; put numbers into typed arrays`);
  }
  bytes.writeUInt32LE(asRecords ? (length | recordsBit) >>> 0 : length, 0);
  return bytes;
}

/** Length, length of what comes before the bytes, that, the bytes. They are copied: whoever sent them may change them at once. */
function encodeBytes({ kind, id }: Frame, value: Uint8Array): Uint8Array {
  const head = plain.pack([kind, id]);
  const start = headerBytes + 1 + head.length;
  const bytes = Buffer.allocUnsafeSlow(start + value.length);
  if (bytes.length - headerBytes <= longestFrame) bytes.writeUInt32LE((bytes.length - headerBytes) | bytesBit, 0);
  bytes[headerBytes] = head.length;
  bytes.set(head, headerBytes + 1);
  bytes.set(value, start);
  return bytes;
}

function fieldsOf(frame: Frame): readonly unknown[] {
  switch (frame.kind) {
    case frameKinds.call:
      return [frame.kind, frame.id, frame.service, frame.method, frame.methodKind, frame.input, frame.timeoutMs, frame.window];
    case frameKinds.cancel:
      return [frame.kind, frame.id, frame.reason];
    case frameKinds.credit:
    case frameKinds.inputCredit:
      return [frame.kind, frame.id, frame.bytes];
    case frameKinds.result:
    case frameKinds.item:
    case frameKinds.input:
      return [frame.kind, frame.id, frame.value];
    case frameKinds.error:
      return [frame.kind, frame.id, frame.error];
    case frameKinds.end:
    case frameKinds.inputEnd:
      return [frame.kind, frame.id];
  }
}

/**
 * Takes a message apart: it holds one frame or several. Its bytes are not trusted.
 *
 * @param receive - takes each frame, and the bytes it had, header included
 * @throws MarinError DUCKY_BAD_FRAME naming what is wrong; DUCKY_MESSAGE_TOO_LARGE through `tooLarge`; what `receive` throws
 */
export function decodeMessage(message: Uint8Array, maxFrameBytes: number, tooLarge: (bytes: number) => MarinError, receive: (frame: Frame, bytes: number) => void): void {
  const bytes = Buffer.from(message.buffer, message.byteOffset, message.byteLength);
  const part = { start: 0, end: 0 };
  if (bytes.length === 0) throw badFrame("it is empty", {});
  while (part.end < bytes.length) {
    const header = part.end;
    if (bytes.length - header <= headerBytes) throw badFrame("it ends too early", { bytes: bytes.length });
    const first = bytes.readUInt32LE(header);
    const length = first & longestFrame;
    part.start = header + headerBytes;
    part.end = part.start + length;
    if (length + headerBytes > maxFrameBytes) throw tooLarge(length + headerBytes);
    if (length === 0 || part.end > bytes.length) throw badFrame("its length is wrong", { bytes: bytes.length });
    receive((first & bytesBit) === 0 ? decodeValue(bytes, part, first >= recordsBit) : decodeBytes(bytes, part), length + headerBytes);
  }
}

interface Part {
  readonly start: number;
  readonly end: number;
}

function decodeValue(bytes: Buffer, part: Part, asRecords: boolean): Frame {
  const length = part.end - part.start;
  if (length > uncountedBytes && countValues(bytes, part.start, part.end) > maxValues) throw badFrame(`it holds more than ${maxValues} values`, { bytes: length });
  return checkedFrame(unpack(asRecords ? records : plain, bytes, part));
}

/** The value is a view of the message. */
function decodeBytes(bytes: Buffer, { start, end }: Part): Frame {
  const valueStart = start + 1 + (bytes[start] ?? 0);
  if (valueStart > end) throw badFrame("it ends too early", { bytes: end - start });
  const frame = checkedFrame(unpack(plain, bytes, { start: start + 1, end: valueStart }));
  if (!("value" in frame)) throw badFrame("it carries bytes and is none that may", { kind: frame.kind });
  return { ...frame, value: new Uint8Array(bytes.buffer, bytes.byteOffset + valueStart, end - valueStart) };
}

function unpack(codec: Packr, bytes: Buffer, part: Part): unknown {
  try {
    return codec.unpack(bytes, part);
  } catch (cause) {
    throw badFrame("it is no MessagePack value", { bytes: part.end - part.start }, cause);
  }
}

function checkedFrame(fields: unknown): Frame {
  if (!Array.isArray(fields)) throw badFrame("it is no array", {});
  const [kind, id, first] = fields as unknown[];
  if (!isCount(id) || id === 0) throw badFrame("its call id is no whole number of at least 1", { kind });
  switch (kind) {
    case frameKinds.call:
      return checkedCall(id, fields);
    case frameKinds.cancel:
      return { kind, id, reason: first };
    case frameKinds.credit:
    case frameKinds.inputCredit:
      if (!isCount(first)) throw badFrame("a credit must be a whole number", { id });
      return { kind, id, bytes: first };
    case frameKinds.result:
    case frameKinds.item:
    case frameKinds.input:
      return { kind, id, value: first };
    case frameKinds.error:
      return { kind, id, error: first };
    case frameKinds.end:
    case frameKinds.inputEnd:
      return { kind, id };
    default:
      throw badFrame("its kind is unknown", { kind, id });
  }
}

function checkedCall(id: number, fields: readonly unknown[]): Frame {
  const [, , service, method, methodKind, input, timeoutMs, window] = fields;
  if (typeof service !== "string" || typeof method !== "string") throw badFrame("a call's service and method must be strings", { id });
  if (!isCount(methodKind) || methodKind >= methodKinds.length) throw badFrame("the kind of a call's method is unknown", { id });
  if (timeoutMs !== null && !(typeof timeoutMs === "number" && timeoutMs > 0)) throw badFrame("a call's timeout must be a positive number or null", { id });
  if (!isCount(window)) throw badFrame("a call's window must be a whole number", { id });
  return { kind: frameKinds.call, id, service, method, methodKind, input, timeoutMs, window };
}

function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}

/** The error of a frame that breaks the protocol. */
export function badFrame(what: string, data: Readonly<Record<string, unknown>>, cause?: unknown): MarinError {
  return new MarinError("DUCKY_BAD_FRAME", `A received frame is malformed: ${what}. Both ends must run the same version of @marin/ducky.`, {
    data,
    ...(cause === undefined ? {} : { cause }),
  });
}
