import type { ActorDescription } from "./messages.js";

/** One call, as a host gets it. */
export interface CallRequest {
  readonly method: string;
  readonly args: readonly unknown[];
  /** Names a call that may be made again; undefined for one that must not. */
  readonly key: string | undefined;
}

/** One call of a generator method. */
export interface StreamRequest {
  readonly method: string;
  readonly args: readonly unknown[];
  /** Items that may be under way. */
  readonly window: number;
  /** Items at the beginning that are made but not sent: those of an earlier try. */
  readonly skip: number;
}

/** Takes a call's answer. */
export interface CallReply {
  result(value: unknown): void;
  error(error: unknown): void;
  /** Told the value before a snapshot is taken that holds what the call did. */
  beforeSnapshot?(value: unknown): void;
}

/** Takes a stream's items. */
export interface StreamSink {
  item(value: unknown): void;
  end(): void;
  error(error: unknown): void;
}

/** What the maker of a call may ask of it. */
export interface CallControl {
  cancel(reason: unknown): void;
}

/** What the reader of a stream may ask of it. */
export interface StreamControl extends CallControl {
  grant(items: number): void;
}

/** An actor that a host offers: one of its own, or one of another host that it passes calls on to. */
export interface ActorTarget {
  describe(): ActorDescription | Promise<ActorDescription>;
  call(request: CallRequest, reply: CallReply): CallControl;
  stream(request: StreamRequest, sink: StreamSink): StreamControl;
  forget(key: string): void;
}
