import { formatBytes, MarinError } from "@marin/iris";
import { Misquoted, RowParser } from "./csv-row.js";
import type { Format, FormatInput } from "./format.js";
import type { RecordGroups } from "./groups.js";
import { lineBatches, type Line, lineName, lineText } from "./lines.js";
import { badSetting, numberSetting, textSetting } from "./settings.js";
import { columnsToRead, fixedColumns } from "./table-columns.js";

/** Comma-separated values (RFC 4180): the first line names the fields, each other row is a record of texts. */
export const csvFormat = separatedFormat("csv", [".csv"], ",");

/** The same with tabs between the fields. */
export const tsvFormat = separatedFormat("tsv", [".tsv", ".tab"], "\t");

/** How a file is taken apart. */
interface Dialect {
  readonly delimiter: string;
  readonly quote: string;
  /** Names of the fields; undefined when the first row has them. */
  readonly names: readonly string[] | undefined;
  readonly maxRowBytes: number;
}

/** A row and the line that it begins in. */
interface Row {
  readonly fields: readonly string[];
  readonly line: Line;
}

function separatedFormat(name: string, endings: readonly string[], delimiter: string): Format {
  return {
    name,
    endings,
    settings: ["delimiter", "header", "quote", "maxRowBytes"],
    texts: true,
    finishes: true,
    groups: (input) => recordGroups(input, dialectOf(input, delimiter)),
  };
}

async function* recordGroups(input: FormatInput, dialect: Dialect): RecordGroups<unknown> {
  let { names } = dialect;
  if (names !== undefined) columnsToRead(input, fixedColumns(...names));
  const recordsOf = function* (rows: Iterable<Row>): Generator {
    for (const { fields, line } of rows) {
      if (names === undefined) {
        names = checkedNames(input.path, fields, line);
        columnsToRead(input, fixedColumns(...names));
        continue;
      }
      if (fields.length !== names.length) {
        input.bad(rowError(input.path, line, `it has ${String(fields.length)} ${fields.length === 1 ? "field" : "fields"}, and there are ${String(names.length)} names`), line.bytes);
        continue;
      }
      const value: Record<string, string> = {};
      for (const [index, field] of fields.entries()) value[names[index] ?? ""] = field;
      const record = input.record(value, { line: line.number, offset: line.offset });
      if (record !== undefined) yield record;
    }
  };
  for await (const rows of rowGroups(input, dialect)) yield recordsOf(rows);
}

/** The rows. Of one that is wrong its first line is reported, and reading goes on with the line behind it. */
async function* rowGroups(input: FormatInput, { delimiter, quote, maxRowBytes }: Dialect): RecordGroups<Row> {
  const { path } = input;
  const parser = new RowParser(delimiter, quote);
  // Lines of a row that is not closed yet.
  let open: Line[] = [];
  const close = (): Line[] => {
    const lines = open;
    open = [];
    parser.reset();
    return lines;
  };
  // Reports the first line of the open row; gives the others, to be read anew.
  const refuse = (error: MarinError | string): Line[] => {
    const [first, ...others] = close();
    if (first !== undefined) input.bad(typeof error === "string" ? rowError(path, first, error) : error, first.bytes);
    return others;
  };
  const take = function* (arrived: readonly Line[]): Generator<Row> {
    const waiting = [...arrived].reverse();
    for (let line = waiting.pop(); line !== undefined; line = waiting.pop()) {
      const before = open.at(-1);
      if (before === undefined && isEmpty(line.bytes)) continue;
      if (before !== undefined && line.offset !== before.offset + before.bytes.length + 1) {
        waiting.push(line, ...refuse("a line in it is too long").reverse());
        continue;
      }
      open.push(line);
      const outcome = parsed(path, parser, line);
      if (outcome instanceof MarinError || outcome instanceof Misquoted) waiting.push(...refuse(outcome instanceof Misquoted ? outcome.message : outcome).reverse());
      else if (outcome !== undefined) yield { fields: outcome, line: close()[0] ?? line };
      else if (line.offset + line.bytes.length - (open[0] ?? line).offset > maxRowBytes) waiting.push(...refuse(`a quote that opens in it is not closed within ${formatBytes(maxRowBytes)}`).reverse());
    }
  };
  for await (const lines of lineBatches(input.chunks(), { path, maxLineBytes: maxRowBytes, limitName: "maxRowBytes", tooLong: input.bad })) yield take(lines);
  while (open.length > 0) yield take(refuse("a quote that opens in it is never closed"));
}

/** The fields of a row that ends with the line; undefined when it goes on; what is wrong. */
function parsed(path: string, parser: RowParser, line: Line): readonly string[] | undefined | MarinError | Misquoted {
  try {
    return parser.add(lineText(path, line));
  } catch (error) {
    if (error instanceof Misquoted || error instanceof MarinError) return error;
    throw error;
  }
}

/** Only what is no field: CR LF ends a line too. */
function isEmpty(bytes: Buffer): boolean {
  return bytes.length === 0 || (bytes.length === 1 && bytes[0] === 13);
}

/** @throws MarinError ZEPHYR_BAD_CSV */
function checkedNames(path: string, names: readonly string[], line: Line): readonly string[] {
  // A file of such lines is one single row, and would have no record.
  if (names.some((name) => /\r(?!\n)/.test(name))) throw rowError(path, line, "a carriage return stands alone in it: if lines end so, make them end in line feeds (tr '\\r' '\\n')");
  const twice = names.find((name, index) => names.indexOf(name) !== index);
  if (twice !== undefined) throw rowError(path, line, `it names the field ${JSON.stringify(twice)} twice; give names by the setting header, { header: ["a", "b"] }`);
  if (names.includes("__proto__")) throw rowError(path, line, "no field can be called __proto__; give names by the setting header");
  return names;
}

/** @throws MarinError ZEPHYR_BAD_SETTING */
function dialectOf(input: FormatInput, ownDelimiter: string): Dialect {
  const delimiter = textSetting(input, "delimiter") ?? ownDelimiter;
  const quote = textSetting(input, "quote") ?? '"';
  const { header = true } = input.settings;
  if (!isCharacter(delimiter) || delimiter === quote) throw badSetting("delimiter", delimiter, "one character of ASCII, another than the quote");
  if (quote !== "" && !isCharacter(quote)) throw badSetting("quote", quote, 'one character of ASCII, or "" where quotes mean nothing');
  if (header !== true && !(Array.isArray(header) && header.length > 0 && new Set(header).size === header.length && header.every((name) => typeof name === "string" && name !== "__proto__"))) {
    throw badSetting("header", header, "true (the first row has the names) or a list of names, each once");
  }
  return { delimiter, quote, names: header === true ? undefined : (header as readonly string[]), maxRowBytes: numberSetting(input, "maxRowBytes", 1) ?? 1 << 24 };
}

function isCharacter(text: string): boolean {
  return text.length === 1 && text < "\u0080" && text !== "\n" && text !== "\r";
}

function rowError(path: string, { number, offset }: Line, reason: string): MarinError {
  return new MarinError("ZEPHYR_BAD_CSV", `${path}, the row in ${lineName(number, offset)} cannot be read: ${reason}.`, { data: { path, ...(number === undefined ? {} : { line: number }), offset } });
}
