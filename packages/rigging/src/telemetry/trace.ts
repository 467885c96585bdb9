/** Values that a span can carry. */
export type SpanAttributes = Readonly<Record<string, string | number | boolean | readonly string[] | readonly number[]>>;

/** A piece of work with a beginning and an end, inside another one. */
export interface Span {
  /** Where it stands in its trace, in the form of the W3C's traceparent header; handed to another process, its spans become children of this one. Undefined while nothing is recorded. */
  readonly traceparent: string | undefined;
  /** Adds facts to it. */
  setAttributes(attributes: SpanAttributes): void;
  /** Adds a moment to it. */
  addEvent(name: string, attributes?: SpanAttributes): void;
}

/** Settings of {@link withSpan}. */
export interface SpanOptions {
  /** Facts that are known at its beginning. Default: none. */
  readonly attributes?: SpanAttributes;
  /** The span around it, when that is in another process: its traceparent. Default: the span in which the call is made. */
  readonly parent?: string;
}

/** What records spans, once telemetry is started. */
export interface Tracing {
  withSpan<T>(name: string, work: (span: Span) => Promise<T>, options: SpanOptions): Promise<T>;
  current(): { readonly traceparent: string; readonly traceId: string; readonly spanId: string } | undefined;
}

const key: unique symbol = Symbol.for("marin.tracing");
const holder = globalThis as { [key]?: Tracing };

/** Begins, or with undefined ends, the recording of spans. */
export function setTracing(tracing: Tracing | undefined): void {
  if (tracing === undefined) Reflect.deleteProperty(holder, key);
  else holder[key] = tracing;
}

/** What records spans now. */
export function currentTracing(): Tracing | undefined {
  return holder[key];
}

const unrecorded: Span = { traceparent: undefined, setAttributes: () => undefined, addEvent: () => undefined };

/**
 * Does work as a span: what it calls, across `await` and timers, is inside. Its end, its errors and its time are recorded while telemetry runs; otherwise
 * the work is just done, at the cost of a call.
 *
 * @param name - what is done, without what varies: "read shard"
 * @param work - the work
 * @throws what the work throws
 */
export async function withSpan<T>(name: string, work: (span: Span) => Promise<T>, options: SpanOptions = {}): Promise<T> {
  const tracing = holder[key];
  return await (tracing === undefined ? work(unrecorded) : tracing.withSpan(name, work, options));
}

/** Where this moment stands in its trace, for a process that is about to be started (as TRACEPARENT) or called. Undefined outside any span. */
export function currentTraceparent(): string | undefined {
  return holder[key]?.current()?.traceparent;
}
