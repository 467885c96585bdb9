import { MarinError } from "@marin/iris";
import { compressionSuffixes, withoutCompression } from "../compression/suffix.js";
import type { Format } from "./format.js";
import { arrowFormat } from "./arrow.js";
import { csvFormat, tsvFormat } from "./csv.js";
import { jsonlFormat } from "./jsonl.js";
import { parquetFormat } from "./parquet-format.js";
import { linesFormat, textFormat } from "./text.js";
import { warcFormat, wetFormat } from "./warc.js";
import { zipFormat } from "./zip.js";

const own: readonly Format[] = [jsonlFormat, textFormat, linesFormat, csvFormat, tsvFormat, parquetFormat, arrowFormat, warcFormat, wetFormat, zipFormat(formatOf)];
const registered = new Map<string, Format>();

/**
 * Teaches this process to read files of another kind: from then on `readRecords`, `Dataset.fromFiles` and listings know its
 * endings, packed (.gz, .zst, .xz) or not. A module that calls it at its top needs only be imported.
 *
 * @param format - its name, endings and reader
 * @returns what takes the format back
 * @throws MarinError ZEPHYR_BAD_FORMAT when name or endings cannot be, or are taken
 */
export function registerFormat(format: Format): Disposable {
  const problem = problemOf(format);
  if (problem !== undefined) throw new MarinError("ZEPHYR_BAD_FORMAT", `The format "${format.name}" ${problem}.`, { data: { format: format.name, endings: format.endings } });
  registered.set(format.name, format);
  return {
    [Symbol.dispose]: () => {
      if (registered.get(format.name) === format) registered.delete(format.name);
    },
  };
}

/** Every format that is known. */
function knownFormats(): readonly Format[] {
  return [...own, ...registered.values()];
}

/** Whether there is a format of that name in this process. */
export function isKnownFormat(name: string): boolean {
  return knownFormats().some((format) => format.name === name);
}

/**
 * The format of a name: "jsonl".
 *
 * @throws MarinError ZEPHYR_UNKNOWN_FORMAT naming those that are known
 */
export function formatNamed(name: string): Format {
  const found = knownFormats().find((format) => format.name === name);
  if (found !== undefined) return found;
  const names = knownFormats().map((format) => format.name);
  throw new MarinError("ZEPHYR_UNKNOWN_FORMAT", `There is no format "${name}": there are ${names.join(", ")}. One of your own is taught by registerFormat, in a module that is imported before it is asked for.`, { data: { format: name, formats: names } });
}

/**
 * The format of a file by its name's ending, upper or lower case alike. The longest ending counts: ".warc.wet" before ".wet".
 *
 * @throws MarinError ZEPHYR_UNKNOWN_FORMAT naming the endings that are read
 */
export function formatOf(path: string): Format {
  const name = withoutCompression(path).toLowerCase();
  let best: { readonly format: Format; readonly length: number } | undefined;
  for (const format of knownFormats()) {
    for (const ending of format.endings) if (name.endsWith(ending) && ending.length > (best?.length ?? 0)) best = { format, length: ending.length };
  }
  if (best !== undefined) return best.format;
  const endings = knownFormats().flatMap((format) => format.endings);
  throw new MarinError("ZEPHYR_UNKNOWN_FORMAT", `${path} is of no kind that is read: names end in ${endings.join(", ")}, and may end in ${compressionSuffixes.join(", ")} besides. Say which it is ({ format: "jsonl" }), or teach another by registerFormat.`, { data: { path, extensions: recordExtensions() } });
}

/** The endings of names that are read, for listings of files: ".jsonl", ".jsonl.gz", ... */
export function recordExtensions(): readonly string[] {
  return knownFormats().flatMap(({ endings, randomAccess }) => endings.flatMap((ending) => [ending, ...(randomAccess === true ? [] : compressionSuffixes.map((suffix) => ending + suffix))]));
}

function problemOf({ name, endings, read, groups }: Format): string | undefined {
  if (!/^[a-z][a-z0-9-]*$/.test(name)) return "needs a name of a-z, 0-9 and -";
  if (knownFormats().some((format) => format.name === name)) return "is known already; choose another name";
  if ((read === undefined) === (groups === undefined)) return "needs either read or groups";
  for (const ending of endings) {
    if (!/^(\.[a-z0-9_-]+)+$/.test(ending)) return `has the ending "${ending}", which has to be lower case with a dot first`;
    if (withoutCompression(`a${ending}`) !== `a${ending}`) return `has the ending "${ending}": compressions are undone before a format is asked, so leave theirs away`;
    const owner = knownFormats().find((format) => format.endings.includes(ending));
    if (owner !== undefined) return `has the ending "${ending}", which belongs to "${owner.name}"`;
  }
  return undefined;
}
