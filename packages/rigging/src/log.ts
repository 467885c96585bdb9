import { createRequire } from "node:module";
import type { Logger as PinoLogger } from "pino";
import { escapeControls } from "./escape.js";
import { type Plain, toPlain } from "./redaction/plain.js";
import { redactor } from "./redaction/redactor.js";
import { currentTracing } from "./telemetry/trace.js";

/** How much a line matters, least first. */
export const logLevels = ["debug", "info", "warn", "error"] as const;

/** How much a line matters. */
export type LogLevel = (typeof logLevels)[number];

/** Named values that go with a line. Secrets print redacted, wherever they stand in them; errors print as their name, code and message. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Where a component sends what people should see. Library code takes one of these and never prints by itself. */
export interface Logger {
  /** For someone hunting a problem. */
  debug(message: string, fields?: LogFields): void;
  /** For someone watching a run. */
  info(message: string, fields?: LogFields): void;
  /** Something is not as it should be, and the run goes on. */
  warn(message: string, fields?: LogFields): void;
  /** Something failed. */
  error(message: string, fields?: LogFields): void;
  /** A logger that adds `fields` to each of its lines. */
  with(fields: LogFields): Logger;
}

/** Settings of {@link createLogger}. */
export interface LoggerOptions {
  /** Lines below this level are dropped. Default "info". */
  readonly level?: LogLevel;
  /**
   * "text" for people: `09:15:02 info  step done loss=3.1`. "json", by pino: one object a line, with the ids of the span it was written in while telemetry runs. Default "text".
   */
  readonly format?: "text" | "json";
  /** Takes one finished line, its line end included. Default: standard error, which keeps standard output for results. */
  readonly write?: (line: string) => void;
  /** The time of a line. Default: the system's clock. */
  readonly now?: () => Date;
}

/**
 * A logger that writes one line an event. A value that cannot be written (a getter that throws, a loop) is replaced by a
 * note: logging never throws because of what is logged.
 */
export function createLogger(options: LoggerOptions = {}): Logger {
  const write = options.write ?? ((line: string): void => void process.stderr.write(line));
  const now = options.now ?? ((): Date => new Date());
  const threshold = logLevels.indexOf(options.level ?? "info");
  const emit = options.format === "json" ? jsonEmitter(write, now) : textEmitter(write, now);
  return make({});

  function make(inherited: LogFields): Logger {
    const at =
      (level: LogLevel) =>
      (message: string, fields: LogFields = {}): void => {
        if (logLevels.indexOf(level) < threshold) return;
        emit(level, redactor.redact(message), toPlain({ ...inherited, ...fields }, redactor) as PlainFields);
      };
    return {
      debug: at("debug"),
      info: at("info"),
      warn: at("warn"),
      error: at("error"),
      with: (fields) => make({ ...inherited, ...fields }),
    };
  }
}

/** A logger that drops everything, for callers that want silence. */
export const silentLogger: Logger = createLogger({ level: "error", write: () => undefined });

type PlainFields = Readonly<Record<string, Plain>>;

type Emitter = (level: LogLevel, message: string, fields: PlainFields) => void;

/** Loaded with the first line: a process that writes none of these starts 20 ms sooner. */
function jsonEmitter(write: (line: string) => void, now: () => Date): Emitter {
  let target: PinoLogger | undefined;
  return (level, message, fields) => {
    target ??= (createRequire(import.meta.url)("pino") as typeof import("pino").default)(
      { level: "debug", base: null, messageKey: "message", timestamp: () => `,"time":"${now().toISOString()}"`, formatters: { level: (label) => ({ level: label }) } },
      { write },
    );
    const span = currentTracing()?.current();
    target[level]({ ...(span === undefined ? {} : { trace_id: span.traceId, span_id: span.spanId }), ...withoutHead(fields) }, message);
  };
}

/** Fields cannot pass for what the line itself says. */
function withoutHead(fields: PlainFields): PlainFields {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => name !== "time" && name !== "level" && name !== "message"));
}

function textEmitter(write: (line: string) => void, now: () => Date): Emitter {
  return (level, message, fields) => write(`${textLine(now(), level, message, fields)}\n`);
}

function textLine(time: Date, level: LogLevel, message: string, fields: PlainFields): string {
  let line = `${time.toISOString().slice(11, 19)} ${level.padEnd(5)} ${escapeControls(message)}`;
  for (const [key, value] of Object.entries(fields)) {
    const text = typeof value === "string" ? value : JSON.stringify(value);
    line += ` ${escapeControls(key)}=${escapeControls(/^[^\s"=]+$/.test(text) ? text : JSON.stringify(text))}`;
  }
  return line;
}
