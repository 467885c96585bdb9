import { type Context, ROOT_CONTEXT, SpanStatusCode, type SpanContext, TraceFlags, type Tracer, context, trace } from "@opentelemetry/api";
import type { ReadableSpan } from "@opentelemetry/sdk-trace";
import type { Redactor } from "../redaction/redactor.js";
import type { Span, SpanAttributes, Tracing } from "./trace.js";

/** Spans by OpenTelemetry. */
export function otelTracing(tracer: Tracer): Tracing {
  return {
    withSpan(name, work, { attributes = {}, parent }) {
      return tracer.startActiveSpan(name, { attributes: { ...(attributes as Mutable) } }, parentContext(parent), async (span) => {
        const own: Span = {
          traceparent: traceparentOf(span.spanContext()),
          setAttributes: (more) => void span.setAttributes({ ...(more as Mutable) }),
          addEvent: (event, more = {}) => void span.addEvent(event, { ...(more as Mutable) }),
        };
        try {
          return await work(own);
        } catch (error) {
          const message = error instanceof Error ? error.message : String(error);
          const code = (error as { readonly code?: unknown } | null)?.code;
          span.addEvent("exception", { "exception.type": typeof code === "string" ? code : error instanceof Error ? error.name : typeof error, "exception.message": message });
          span.setStatus({ code: SpanStatusCode.ERROR, message });
          throw error;
        } finally {
          span.end();
        }
      });
    },
    current() {
      const found = trace.getSpanContext(context.active());
      return found === undefined ? undefined : { traceparent: traceparentOf(found), traceId: found.traceId, spanId: found.spanId };
    },
  };
}

type Mutable = Record<string, string | number | boolean | string[] | number[]>;

function parentContext(traceparent: string | undefined): Context {
  const [, traceId, spanId, flags] = /^[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-|$)/.exec(traceparent ?? "") ?? [];
  if (traceId === undefined || spanId === undefined || flags === undefined || /^0+$/.test(traceId) || /^0+$/.test(spanId)) return traceparent === undefined ? context.active() : ROOT_CONTEXT;
  return trace.setSpanContext(context.active(), { traceId, spanId, traceFlags: Number.parseInt(flags, 16) & TraceFlags.SAMPLED, isRemote: true });
}

function traceparentOf({ traceId, spanId, traceFlags }: SpanContext): string {
  return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, "0")}`;
}

/** About how many bytes a span takes in OTLP's JSON: measured on small ones, what varies added. */
export function spanBytes(span: ReadableSpan): number {
  const eventBytes = span.events.reduce((sum, { name, attributes }) => sum + 100 + name.length + attributesBytes(attributes ?? {}), 0);
  return 450 + span.name.length + attributesBytes(span.attributes) + eventBytes + (span.status.message?.length ?? 0) + span.links.length * 150;
}

function attributesBytes(attributes: Readonly<Record<string, unknown>>): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(attributes)) {
    bytes += 40 + name.length + (typeof value === "string" ? value.length : Array.isArray(value) ? value.reduce<number>((sum, item) => sum + 24 + (typeof item === "string" ? item.length : 8), 0) : 8);
  }
  return bytes;
}

/** The span as it may leave the process: secrets are masked in its name, its attributes, its events and its status. */
export function redactedSpan(span: ReadableSpan, redactor: Redactor): ReadableSpan {
  const clean = (attributes: Readonly<Record<string, unknown>>): SpanAttributes =>
    Object.fromEntries(Object.entries(attributes).map(([name, value]) => [redactor.redact(name), cleanValue(value)])) as SpanAttributes;
  const cleanValue = (value: unknown): unknown => (typeof value === "string" ? redactor.redact(value) : Array.isArray(value) ? value.map(cleanValue) : value);
  return Object.create(span, {
    name: { value: redactor.redact(span.name) },
    attributes: { value: clean(span.attributes) },
    events: { value: span.events.map((event) => ({ ...event, name: redactor.redact(event.name), attributes: clean(event.attributes ?? {}) })) },
    status: { value: span.status.message === undefined ? span.status : { ...span.status, message: redactor.redact(span.status.message) } },
  }) as ReadableSpan;
}
