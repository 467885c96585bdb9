import { FrayWorker } from "@marin/fray";
import { MarinError, entry, formatDuration } from "../platform.js";
import type { QueryResult, queryDatabase } from "./query-worker.js";
import { Slots } from "./slots.js";

/** How to ask. */
export interface QueryOptions {
  /** Rows at most. Default 1,000; at most 10,000. */
  readonly maxRows?: number | undefined;
  /** Ends the query after so many milliseconds. Default 10,000. */
  readonly timeoutMs?: number | undefined;
  /** Ends the query, with its reason as the error. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

const workerModule = new URL(import.meta.url.endsWith(".ts") ? "./query-worker.ts" : "./query-worker.js", import.meta.url);

/** Queries that may wait for the one that runs. */
const maxWaiting = 8;

/** Comments, and texts in quotes, where a semicolon ends nothing. */
const unspoken = /--[^\n]*|\/\*[\s\S]*?(?:\*\/|$)|'(?:[^']|'')*'|"(?:[^"]|"")*"/g;

/**
 * Asks a controller's database, read-only, one statement after the other. They run in a process of their own, which is started for the first one, and ended with a statement that takes too
 * long: nothing else stops it.
 */
export class Queries implements AsyncDisposable {
  readonly #path: string;
  readonly #slots = new Slots(maxWaiting, "queries");
  #worker: Promise<FrayWorker> | undefined;
  #last: Promise<unknown> = Promise.resolve();

  /** @param path - the database's file */
  constructor(path: string) {
    this.#path = path;
  }

  /**
   * Answers one SELECT, WITH, VALUES or EXPLAIN.
   *
   * @param sql - the statement
   * @param options - limits
   * @throws MarinError IRIS_BAD_QUERY (says why), IRIS_QUERY_TIMEOUT, IRIS_BUSY; the signal's reason
   */
  async run(sql: string, { maxRows = 1_000, timeoutMs = 10_000, signal }: QueryOptions = {}): Promise<QueryResult> {
    const problem = problemOf(sql);
    if (problem !== undefined) throw new MarinError("IRIS_BAD_QUERY", `The query cannot be answered: ${problem}.`);
    if (!Number.isInteger(maxRows) || maxRows < 1 || maxRows > 10_000) throw new MarinError("IRIS_BAD_QUERY", "A query gives 1 to 10,000 rows.", { data: { maxRows } });
    const release = this.#slots.take();
    const turn = this.#last.then(() => this.#answer(sql, maxRows, timeoutMs, signal)).finally(release);
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Ends the process. */
  async close(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined);
    worker?.kill();
    await worker?.exited;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #answer(sql: string, maxRows: number, timeoutMs: number, signal: AbortSignal | undefined): Promise<QueryResult> {
    signal?.throwIfAborted();
    const ignore = (): void => undefined;
    this.#worker ??= FrayWorker.start({ kind: "process", name: "iris-query", detached: true, onStdout: ignore, onStderr: ignore });
    const worker = await this.#worker.catch((error: unknown) => {
      this.#worker = undefined;
      throw error;
    });
    let late = false;
    const end = (): void => {
      this.#worker = undefined;
      worker.kill();
    };
    const timer = setTimeout(() => {
      late = true;
      end();
    }, timeoutMs);
    if (signal?.aborted === true) end();
    signal?.addEventListener("abort", end, { once: true });
    try {
      return await worker.call(entry<typeof queryDatabase>(workerModule, "queryDatabase"), [this.#path, sql, maxRows]);
    } catch (error) {
      // A process that fell by itself is not asked again.
      if (!(error instanceof MarinError && error.code === "IRIS_BAD_QUERY")) end();
      signal?.throwIfAborted();
      if (late) throw new MarinError("IRIS_QUERY_TIMEOUT", `The query took longer than ${formatDuration(timeoutMs)} and was ended: ask for less, or by a column with an index (uid, id).`, { data: { timeoutMs } });
      throw error;
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener("abort", end);
      if (this.#worker === undefined) await worker.exited;
    }
  }
}

/** Why a text is not one statement that reads. */
function problemOf(sql: string): string | undefined {
  const spoken = sql.replace(unspoken, " ");
  if (!/^\s*(?:select|with|values|explain)\b/i.test(spoken)) return "only statements that read are answered: begin with SELECT, WITH, VALUES or EXPLAIN";
  return /;\s*[^\s;]/.test(spoken) ? "it is more than one statement" : undefined;
}
