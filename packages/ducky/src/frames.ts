import { Packr } from "msgpackr";
import { MarinError } from "./errors.js";

/** What a frame is; the first element of the array that travels. The caller sends the first three, the other end the rest. */
export const frameKinds = { call: 0, cancel: 1, credit: 2, result: 3, error: 4, item: 5, end: 6 } as const;

/** One message between two connections. `id` names a call, counted up by the caller from 1. */
export type Frame =
  /** `window` is the bytes of items that may be under way; null for a method with one answer. */
  | { readonly kind: typeof frameKinds.call; readonly id: number; readonly service: string; readonly method: string; readonly input: unknown; readonly timeoutMs: number | null; readonly window: number | null }
  | { readonly kind: typeof frameKinds.cancel; readonly id: number; readonly reason: unknown }
  | { readonly kind: typeof frameKinds.credit; readonly id: number; readonly bytes: number }
  | { readonly kind: typeof frameKinds.result; readonly id: number; readonly value: unknown }
  | { readonly kind: typeof frameKinds.error; readonly id: number; readonly error: unknown }
  | { readonly kind: typeof frameKinds.item; readonly id: number; readonly value: unknown }
  | { readonly kind: typeof frameKinds.end; readonly id: number };

/** Records keep plain objects and Maps apart; without shared structures each frame can be read by itself. */
const packr = new Packr({
  useRecords: true,
  moreTypes: true,
  useToJSON: false,
  useBigIntExtension: true,
  writeFunction: () => {
    throw new TypeError("a function has no form on the wire");
  },
});

/**
 * The bytes of a frame.
 *
 * @throws whatever the codec throws at a value it has no form for (functions, symbols)
 */
export function encodeFrame(frame: Frame): Uint8Array {
  return packr.pack(fields(frame));
}

function fields(frame: Frame): readonly unknown[] {
  switch (frame.kind) {
    case frameKinds.call:
      return [frame.kind, frame.id, frame.service, frame.method, frame.input, frame.timeoutMs, frame.window];
    case frameKinds.cancel:
      return [frame.kind, frame.id, frame.reason];
    case frameKinds.credit:
      return [frame.kind, frame.id, frame.bytes];
    case frameKinds.result:
    case frameKinds.item:
      return [frame.kind, frame.id, frame.value];
    case frameKinds.error:
      return [frame.kind, frame.id, frame.error];
    case frameKinds.end:
      return [frame.kind, frame.id];
  }
}

/**
 * The frame that bytes hold; they are not trusted.
 *
 * @throws MarinError DUCKY_BAD_FRAME naming the field that is wrong
 */
export function decodeFrame(bytes: Uint8Array): Frame {
  let decoded: unknown;
  try {
    decoded = packr.unpack(bytes);
  } catch (cause) {
    throw badFrame("it is no MessagePack value", { bytes: bytes.length }, cause);
  }
  if (!Array.isArray(decoded)) throw badFrame("it is no array", { bytes: bytes.length });
  const [kind, id, first, second, third, fourth, fifth] = decoded as unknown[];
  if (!isCount(id) || id === 0) throw badFrame("its call id is no whole number of at least 1", { kind });
  switch (kind) {
    case frameKinds.call:
      if (typeof first !== "string" || typeof second !== "string") throw badFrame("a call's service and method must be strings", { id });
      if (fourth !== null && !(typeof fourth === "number" && fourth > 0)) throw badFrame("a call's timeout must be a positive number or null", { id });
      if (fifth !== null && !isCount(fifth)) throw badFrame("a call's window must be a whole number or null", { id });
      return { kind, id, service: first, method: second, input: third, timeoutMs: fourth, window: fifth };
    case frameKinds.cancel:
      return { kind, id, reason: first };
    case frameKinds.credit:
      if (!isCount(first)) throw badFrame("a credit must be a whole number", { id });
      return { kind, id, bytes: first };
    case frameKinds.result:
    case frameKinds.item:
      return { kind, id, value: first };
    case frameKinds.error:
      return { kind, id, error: first };
    case frameKinds.end:
      return { kind, id };
    default:
      throw badFrame("its kind is unknown", { kind, id });
  }
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
