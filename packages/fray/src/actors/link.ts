import { isMarinError, MarinError } from "@marin/ducky";
import type { ActorCaller } from "./caller.js";

/** Where an actor stands, as its handle sees it. */
export type ActorState =
  /** It takes calls. */
  | "running"
  /** Its worker has ended, and another is being started. */
  | "restarting"
  /** Its address does not answer. */
  | "unreachable"
  /** Its worker has ended, and it is not started again. */
  | "dead"
  /** It was stopped. */
  | "stopped";

/** The way to an actor: through a worker of this process, or through a connection. */
export interface ActorLink {
  readonly name: string;
  /** The actor in errors: its name and what it is made of, or its address. */
  readonly title: string;
  readonly state: ActorState;
  readonly incarnation: number;
  /** Where calls go now; undefined while there is no way. */
  readonly caller: ActorCaller | undefined;
  /**
   * Where calls go, for one that must not be made twice: answers in bounded time.
   *
   * @throws MarinError FRAY_ACTOR_UNAVAILABLE
   */
  acquire(method: string): Promise<ActorCaller>;
  /**
   * Where calls go, once there is a way again.
   *
   * @throws MarinError FRAY_ACTOR_UNAVAILABLE where there will be none, or not soon enough
   */
  ready(method: string, signal: AbortSignal): Promise<ActorCaller>;
  /** Why a caller has ended before it answered the method: a MarinError FRAY_ACTOR_UNAVAILABLE. */
  lost(caller: ActorCaller, method: string): Promise<MarinError>;
}

/** What is known of a call that has no answer: `no`: the method was not run; `unknown`: it may have been, in part or whole. */
export type WhetherRan = "no" | "unknown";

/** The error of a call for which there is no actor. */
export function unavailable(link: Pick<ActorLink, "title" | "name" | "incarnation">, state: ActorState, method: string, ran: WhetherRan, cause?: unknown): MarinError {
  const how: Record<ActorState, string> = {
    running: "has lost its worker",
    restarting: "is being restarted",
    unreachable: "cannot be reached",
    dead: "is gone",
    stopped: "was stopped",
  };
  const outcome = ran === "no" ? `${method} was not run` : `whether ${method} was run is not known`;
  const why = cause instanceof Error ? ` ${cause.message}` : "";
  return new MarinError("FRAY_ACTOR_UNAVAILABLE", `${link.title} ${how[state]}: ${outcome}.${why}`, {
    data: { ...(isMarinError(cause) ? cause.data : {}), actor: link.name, method, state, ran, incarnation: link.incarnation },
    ...(cause === undefined ? {} : { cause }),
  });
}
