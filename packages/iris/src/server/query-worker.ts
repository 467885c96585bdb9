import { access } from "node:fs/promises";
import { MarinError } from "../platform.js";

/** What a query found. */
export interface QueryResult {
  /** Names of the columns. */
  readonly columns: readonly string[];
  /** Values by row and column; bytes are given by their number. */
  readonly rows: readonly (readonly (string | number | null)[])[];
  /** Whether there were more rows than were asked for. */
  readonly truncated: boolean;
}

/** Values longer than this are cut. */
const maxTextLength = 10_000;

/**
 * Runs one statement that only reads. In a process of its own: a statement may take for ever, and nothing but the end of the process stops it.
 *
 * @param path - the database
 * @param sql - the statement
 * @param maxRows - rows at most
 * @throws MarinError IRIS_BAD_QUERY
 */
export async function queryDatabase(path: string, sql: string, maxRows: number): Promise<QueryResult> {
  const { default: Database } = await import("libsql");
  try {
    // It would be made.
    await access(path);
    const database = new Database(path);
    try {
      database.pragma("query_only = true");
      const statement = database.prepare(sql);
      if (!statement.reader) throw new Error("it gives no rows");
      const columns = statement.columns().map(({ name }) => name);
      const rows: (string | number | null)[][] = [];
      let truncated = false;
      for (const row of statement.safeIntegers(true).raw(true).iterate() as Iterable<unknown[]>) {
        if (rows.length === maxRows) {
          truncated = true;
          break;
        }
        rows.push(row.map(plain));
      }
      return { columns, rows, truncated };
    } finally {
      database.close();
    }
  } catch (cause) {
    throw new MarinError("IRIS_BAD_QUERY", `The query cannot be answered: ${cause instanceof Error ? cause.message : String(cause)}.`, { cause });
  }
}

function plain(value: unknown): string | number | null {
  if (value === null || typeof value === "number") return value;
  if (typeof value === "bigint") return Number.isSafeInteger(Number(value)) ? Number(value) : String(value);
  if (value instanceof Uint8Array) return `${String(value.length)} bytes`;
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > maxTextLength ? `${text.slice(0, maxTextLength)}...` : text;
}
