import { MarinError } from "@marin/iris";

/** What is known of a shard that names its output. */
export interface OutputShard {
  /** The file that the shard's records come from, where it is one. */
  readonly input?: string | undefined;
}

/** A character of the name behind a backslash, or a placeholder. */
const piece = /\\([\\*?[\]{}])|\{([^{}]*)\}/g;
const known = /^(shard|total)(?::0(\d{1,2})d)?$|^basename$/;

/**
 * The paths of all shards' outputs. `{shard}` stands for the shard's number from 0 up, `{total}` for the number of shards, both
 * also padded, `{shard:05d}`; `{basename}` for the name of the shard's input file without directory and endings. As in patterns of sources, a
 * backslash before one of `\*?[]{}` makes it one of the name.
 *
 * @param pattern - "out/part-{shard:05d}-of-{total:05d}.jsonl.zst"
 * @param shards - in order
 * @throws MarinError ZEPHYR_BAD_PATTERN: an unknown placeholder, one name for several shards (both inputs are named), {basename}
 * where a shard has no input file
 */
export function outputPaths(pattern: string, shards: readonly OutputShard[]): string[] {
  checkPattern(pattern);
  const owners = new Map<string, number>();
  return shards.map(({ input }, shard) => {
    const path = pattern.replace(piece, (_whole, literal: string | undefined, inside: string | undefined = "") => {
      if (literal !== undefined) return literal;
      if (inside === "basename") {
        if (input === undefined) throw badPattern(pattern, `shard ${String(shard)} comes from no file of its own, so it has no {basename}: use {shard}`);
        return baseNameOf(input);
      }
      const [, name, width = "0"] = known.exec(inside) ?? [];
      return String(name === "shard" ? shard : shards.length).padStart(Number(width), "0");
    });
    const other = owners.get(path);
    if (other !== undefined) throw twice(pattern, path, [other, shard], shards);
    owners.set(path, shard);
    return path;
  });
}

/** @throws MarinError ZEPHYR_BAD_PATTERN */
export function checkPattern(pattern: string): void {
  if (pattern === "" || pattern.endsWith("/")) throw badPattern(pattern, "it names no file");
  for (const [whole, literal, inside = ""] of pattern.matchAll(piece)) {
    if (literal === undefined && !known.test(inside)) throw badPattern(pattern, `${whole} is no placeholder: {shard}, {shard:05d}, {total}, {total:05d} and {basename} are`);
  }
  if (/[{}]/.test(pattern.replace(piece, ""))) throw badPattern(pattern, "a brace stands alone");
}

/** The name of a file without directory, the ending of a compression, and one more ending. */
function baseNameOf(path: string): string {
  // Only addresses have a query: on disks and in buckets these are characters of names.
  const name = (/^https?:/i.test(path) ? path.replace(/[?#].*$/, "") : path).replace(/\/+$/, "").replace(/^.*\//, "");
  return name.replace(/\.(gz|zst|xz)$/i, "").replace(/(?!^)\.[^.]*$/, "");
}

function twice(pattern: string, path: string, both: readonly [number, number], shards: readonly OutputShard[]): MarinError {
  const inputs = both.map((shard) => shards[shard]?.input);
  const named = both.map((shard, index) => `shard ${String(shard)}${inputs[index] === undefined ? "" : ` (${inputs[index]})`}`);
  return badPattern(pattern, `${named.join(" and ")} would both be written to ${path}: put {shard} into the name`, { path, shards: [...both], inputs });
}

/** An output pattern that cannot be, and why. */
export function badPattern(pattern: string, reason: string, data: Readonly<Record<string, unknown>> = {}): MarinError {
  return new MarinError("ZEPHYR_BAD_PATTERN", `The output pattern "${pattern}" does not do: ${reason}.`, { data: { pattern, ...data } });
}
