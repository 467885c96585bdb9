import type { TransferListItem } from "node:worker_threads";

const handedOver = new WeakMap<object, readonly TransferListItem[]>();
let used = false;

/**
 * Marks what is handed over instead of copied when the value is sent as an argument, result or item of an actor:
 * `actor.fill(transfer(bytes, [bytes.buffer]))`. It is gone here afterwards (an `ArrayBuffer` has length 0). Between threads nothing is copied; to
 * another process it is copied, and taken from the sender all the same, so that a program behaves alike in both.
 *
 * @param value - an object; itself an argument, result or item, not a part of one
 * @param list - the `ArrayBuffer`s in it; between threads also other transferable objects, such as `MessagePort`s
 * @returns the value
 */
export function transfer<T extends object>(value: T, list: readonly (TransferListItem | ArrayBufferLike)[]): T {
  used = true;
  // Typed arrays' own type allows for shared memory, which is never handed over: sending it says so.
  handedOver.set(value, list as readonly TransferListItem[]);
  return value;
}

/** What is handed over with the arguments; undefined when nothing is. */
export function transferListOf(args: readonly unknown[]): readonly TransferListItem[] | undefined {
  if (!used) return undefined;
  const list: TransferListItem[] = [];
  for (const arg of args) if (typeof arg === "object" && arg !== null) list.push(...(handedOver.get(arg) ?? []));
  return list.length === 0 ? undefined : list;
}

/** What is handed over with one value. */
export function transferListOfValue(value: unknown): readonly TransferListItem[] | undefined {
  return used && typeof value === "object" && value !== null ? handedOver.get(value) : undefined;
}
