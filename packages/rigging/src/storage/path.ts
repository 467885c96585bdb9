import { fileURLToPath } from "node:url";
import { MarinError } from "@marin/ducky";

/**
 * A path taken apart: "gs://bucket/data/a.jsonl" has the scheme "gs", the authority "bucket" and the segments "data" and
 * "a.jsonl"; a plain path has neither scheme nor authority. It does not change; joining gives a new one. Repeated slashes and "."
 * are dropped, and a file: URL becomes the plain path that it means. `String(path)` is what {@link Storage} takes.
 */
export class StoragePath {
  /** "gs", "s3", "https", ...; "" for a plain path. */
  readonly scheme: string;
  /** What stands between "//" and the next "/": a bucket, a host; "" for a plain path. */
  readonly authority: string;
  /** The names, outermost first. */
  readonly segments: readonly string[];
  /** Whether a plain path begins at the root of the disk; true for all others. */
  readonly isAbsolute: boolean;

  private constructor(parts: Pick<StoragePath, "scheme" | "authority" | "segments" | "isAbsolute">) {
    this.scheme = parts.scheme;
    this.authority = parts.authority;
    this.segments = parts.segments;
    this.isAbsolute = parts.isAbsolute;
    Object.freeze(this);
  }

  /**
   * Reads a path.
   *
   * @throws MarinError RIGGING_BAD_PATH for an empty path, a zero character, and ".." behind a scheme or above the root
   */
  static parse(text: string | StoragePath): StoragePath {
    if (text instanceof StoragePath) return text;
    if (text === "" || text.includes("\0")) throw badPath(text, "is no path");
    const scheme = schemeOf(text);
    if (scheme === "file") return StoragePath.parse(localPathOf(text));
    if (scheme === undefined) {
      const plain = process.platform === "win32" ? text.replaceAll("\\", "/") : text;
      const isAbsolute = plain.startsWith("/");
      return new StoragePath({ scheme: "", authority: "", segments: resolved(text, plain.split("/"), !isAbsolute), isAbsolute });
    }
    const [, authority, rest] = /^[^:]+:\/\/([^/]*)(?:\/(.*))?$/s.exec(text) ?? [];
    if (authority === undefined || authority === "") throw badPath(text, `is no path: write ${scheme}://name/...`);
    const segments = (rest ?? "").split("/");
    if (segments.includes("..")) throw badPath(text, `has ".." in it, which only plain paths may`);
    return new StoragePath({ scheme, authority, segments: segments.filter((segment) => segment !== "" && segment !== "."), isAbsolute: true });
  }

  /** The last name; "" where there is none. */
  get name(): string {
    return this.segments.at(-1) ?? "";
  }

  /** The last name's end, from its last dot: ".jsonl"; "" where there is none, and for names such as ".gitignore". */
  get extension(): string {
    return /[^.](\.[^.]*)$/.exec(this.name)?.[1] ?? "";
  }

  /** The path around this one; of the outermost, itself. */
  get parent(): StoragePath {
    return new StoragePath({ ...this, segments: this.segments.slice(0, -1) });
  }

  /**
   * A path inside this one.
   *
   * @param parts - names, or several joined by "/"
   * @throws MarinError RIGGING_BAD_PATH for what would leave this path: absolute paths, URLs, ".."
   */
  join(...parts: readonly string[]): StoragePath {
    const added = parts.flatMap((part) => {
      const names = part.split(process.platform === "win32" ? /[/\\]/ : "/");
      if (part === "" || part.includes("\0") || names[0] === "" || schemeOf(part) !== undefined || /^[a-z]:/i.test(part) || names.includes("..")) {
        throw new MarinError("RIGGING_BAD_PATH", `"${shown(part)}" cannot be joined to ${String(this)}: use names joined by "/", without a scheme, a leading "/" and "..".`, { data: { path: part, base: String(this) } });
      }
      return names.filter((name) => name !== "" && name !== ".");
    });
    return new StoragePath({ ...this, segments: [...this.segments, ...added] });
  }

  /** Whether this path is `outer` or lies in it. */
  isWithin(outer: StoragePath): boolean {
    return this.scheme === outer.scheme && this.authority === outer.authority && this.isAbsolute === outer.isAbsolute && outer.segments.every((segment, index) => segment === this.segments[index]);
  }

  /**
   * The names that lead from `outer` to this path.
   *
   * @throws MarinError RIGGING_BAD_PATH when it does not lie there
   */
  relativeTo(outer: StoragePath): string {
    if (!this.isWithin(outer)) throw new MarinError("RIGGING_BAD_PATH", `${String(this)} does not lie in ${String(outer)}.`, { data: { path: String(this), base: String(outer) } });
    return this.segments.slice(outer.segments.length).join("/");
  }

  /** As a text. */
  toString(): string {
    const names = this.segments.join("/");
    if (this.scheme !== "") return `${this.scheme}://${this.authority}${names === "" ? "" : `/${names}`}`;
    return this.isAbsolute ? `/${names}` : names === "" ? "." : names;
  }

  /** As a text. */
  toJSON(): string {
    return this.toString();
  }
}

/** The scheme that a path begins with, in lower case. One letter before the colon is a drive of Windows. */
export function schemeOf(path: string): string | undefined {
  return /^([a-z][a-z0-9+.-]+):/i.exec(path)?.[1]?.toLowerCase();
}

/** A plain path, or what a file: URL means on this machine. @throws MarinError RIGGING_BAD_PATH */
export function localPathOf(path: string): string {
  if (!/^file:/i.test(path)) return path;
  try {
    return fileURLToPath(path);
  } catch (cause) {
    throw new MarinError("RIGGING_BAD_PATH", `${path} is no path of this machine: ${cause instanceof Error ? cause.message : String(cause)}.`, { data: { path }, cause });
  }
}

function resolved(path: string, names: readonly string[], mayRise: boolean): string[] {
  const kept: string[] = [];
  for (const name of names) {
    if (name === "" || name === ".") continue;
    if (name !== "..") kept.push(name);
    else if (kept.length > 0 && kept.at(-1) !== "..") kept.pop();
    else if (mayRise) kept.push(name);
    else throw badPath(path, "leads above the root");
  }
  return kept;
}

function badPath(path: string, problem: string): MarinError {
  return new MarinError("RIGGING_BAD_PATH", `"${shown(path)}" ${problem}.`, { data: { path } });
}

function shown(path: string): string {
  return path.replaceAll("\0", "\\0");
}
