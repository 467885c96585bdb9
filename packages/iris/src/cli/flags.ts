import { InvalidArgumentError, Option } from "commander";
import type { Device } from "../jobs/job-spec.js";
import { parseBytes, parseDuration } from "../platform.js";
import type { Constraint } from "../scheduling/constraints.js";

/** A value of a flag, or what is wrong with it. */
function parsed<T>(read: (text: string) => T): (text: string) => T {
  return (text) => {
    try {
      return read(text);
    } catch (error) {
      throw new InvalidArgumentError(error instanceof Error ? error.message : String(error));
    }
  };
}

/** A repeatable flag. */
function list<T>(read: (text: string) => T): (text: string, before: readonly T[] | undefined) => readonly T[] {
  const one = parsed(read);
  return (text, before = []) => [...before, one(text)];
}

export function whole(flags: string, description: string, least = 0): Option {
  return new Option(flags, description).argParser(
    parsed((text) => {
      if (!/^\d{1,9}$/.test(text) || Number(text) < least) throw new Error(`a whole number from ${String(least)} is needed.`);
      return Number(text);
    }),
  );
}

export function fraction(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    parsed((text) => {
      if (!/^\d+(\.\d+)?$/.test(text)) throw new Error("a number is needed, for example 2 or 0.5.");
      return Number(text);
    }),
  );
}

export function bytes(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parsed(parseBytes));
}

export function duration(flags: string, description: string): Option {
  return new Option(flags, description).argParser(parsed(parseDuration));
}

export function words(flags: string, description: string): Option {
  return new Option(flags, description).argParser(list((text) => text));
}

/** NAME=VALUE. */
export function pairs(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    list((text): readonly [string, string] => {
      const at = text.indexOf("=");
      if (at < 1) throw new Error("NAME=VALUE is needed.");
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}

/** `gpu`, `gpu:8`, `gpu:h100:8`. */
export function device(flags: string, description: string): Option {
  return new Option(flags, description).argParser(
    parsed((text): Device => {
      const [, kind, variant, count = "1"] = /^(gpu|tpu)(?::([a-z][a-z0-9._-]*))?(?::(\d{1,6}))?$/i.exec(text) ?? [];
      if (kind === undefined || Number(count) < 1) throw new Error("KIND[:VARIANT][:COUNT] is needed, for example gpu:8 or gpu:h100:8.");
      return { kind: kind as Device["kind"], count: Number(count), ...(variant === undefined ? {} : { variant }) };
    }),
  );
}

const operators: Readonly<Record<string, "EQ" | "NE" | "GT" | "GE" | "LT" | "LE">> = { "=": "EQ", "!=": "NE", ">": "GT", ">=": "GE", "<": "LT", "<=": "LE" };

/** `region=eu`, `region!=eu`, `memory>=64`, `region in eu,us`, `ssd`, `!spot`. */
export function constraints(flags: string, description: string, soft: boolean): Option {
  return new Option(flags, description).argParser(list((text): Constraint => ({ ...readConstraint(text), soft }) as Constraint));
}

function readConstraint(text: string): object {
  const [, attribute, operator, value] = /^([A-Za-z][\w./-]*)\s*(!=|>=|<=|=|>|<)\s*(.+)$/.exec(text) ?? [];
  if (attribute !== undefined && operator !== undefined && value !== undefined) return { attribute, op: operators[operator], value: plainValue(value) };
  const [, one, many] = /^([A-Za-z][\w./-]*)\s+in\s+(.+)$/i.exec(text) ?? [];
  if (one !== undefined && many !== undefined) return { attribute: one, op: "IN", values: many.split(",").map((each) => plainValue(each.trim())) };
  const [, not, name] = /^(!?)([A-Za-z][\w./-]*)$/.exec(text) ?? [];
  if (name !== undefined) return { attribute: name, op: not === "!" ? "NOT_EXISTS" : "EXISTS" };
  throw new Error('a condition on an attribute is needed: region=eu, zone!=b, generation>=4, "region in eu,us", ssd, !spot.');
}

/** A worker's attribute, or what it is compared with. */
export function plainValue(text: string): string | number | boolean {
  if (text === "true" || text === "false") return text === "true";
  return /^-?\d+(\.\d+)?$/.test(text) ? Number(text) : text;
}
