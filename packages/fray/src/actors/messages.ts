import { MarinError } from "@marin/ducky";
import type { ActorMessage } from "./channel.js";

/** What a message is: its first element. The caller sends those below `result`, the host of the actors the rest. */
export const messageKinds = {
  /** [id, actor]: answered by a description */
  describe: 0,
  /** [id, actor, method, args, key]: `key` names the call for ever where it may be made again */
  call: 1,
  /** [id, actor, method, args, window, skip]: `skip` items at the beginning are not sent */
  stream: 2,
  /** [id, reason] */
  cancel: 3,
  /** [id, items] */
  credit: 4,
  /** [actor, key]: the answer has arrived */
  forget: 5,
  /** [id, value] */
  result: 6,
  /** [id, error] */
  error: 7,
  /** [id, value] */
  item: 8,
  /** [id] */
  end: 9,
  /** [actor, snapshot]: to the owner of the actor's worker */
  snapshot: 10,
} as const;

/** How a method answers: once, or as a generator. */
export type MethodKinds = Readonly<Record<string, "call" | "stream">>;

/** What a host says of an actor. */
export interface ActorDescription {
  readonly methods: MethodKinds;
  /** 1 for the first, one more with each restart. */
  readonly incarnation: number;
}

/** The state of an actor as its owner keeps it for the next incarnation. */
export interface ActorSnapshot {
  readonly state: unknown;
  /** Answers to idempotent calls that the state holds and whose callers may not have them yet. */
  readonly answers: readonly (readonly [key: string, answer: StoredAnswer])[];
}

/** An answer kept for a call that may be made again. */
export type StoredAnswer = { readonly value: Uint8Array } | { readonly error: unknown };

/** The error of a message that breaks the protocol. */
export function badMessage(what: string): MarinError {
  return new MarinError("FRAY_BAD_MESSAGE", `A received message is malformed: ${what}. Both ends must run the same version of @marin/fray.`);
}

/** A received message's kind and its fields; they are not trusted. */
export function checkMessage(message: unknown): ActorMessage {
  if (!Array.isArray(message)) throw badMessage("it is no array");
  const [kind, id] = message as unknown[];
  if (kind === messageKinds.forget || kind === messageKinds.snapshot) {
    if (typeof id !== "string") throw badMessage("its actor is no name");
  } else if (!isCount(id) || !isCount(kind) || kind > messageKinds.snapshot) {
    throw badMessage("its kind or its call's id is unknown");
  }
  return message as unknown[];
}

/** A whole number, 0 or more. */
export function isCount(value: unknown): value is number {
  return Number.isSafeInteger(value) && (value as number) >= 0;
}
