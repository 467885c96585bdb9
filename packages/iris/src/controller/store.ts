import { dirname } from "node:path";
import type Database from "libsql";
import { MarinError, makeDirectorySync } from "../platform.js";
import { migrations } from "./migrations.js";

/** A job, as it is kept. */
export interface JobRow {
  readonly uid: string;
  readonly id: string;
  readonly name: string;
  readonly user: string;
  /** Uid of the job whose task submitted it. */
  readonly parent: string | null;
  /** For queries; the job's own data is the truth. */
  readonly state: string;
  readonly submittedAt: number;
  readonly endedAt: number | null;
  /** The spec without what may hold secrets, as JSON. */
  readonly spec: string;
  /** The rest of it. */
  readonly sealed: Uint8Array;
  /** What the controller knows of the job besides its tasks. */
  readonly data: Uint8Array;
}

/** A task, as it is kept. */
export interface TaskRow {
  readonly job: string;
  readonly index: number;
  readonly state: string;
  readonly attempts: number;
  readonly worker: string | null;
  /** Kind of the last attempt's cause. */
  readonly cause: string | null;
  /** Number of the current attempt's last report that changed the task. */
  readonly seq: number;
  readonly data: Uint8Array;
}

/** An attempt that has ended, as it is kept. */
export interface AttemptRow {
  readonly uid: string;
  readonly job: string;
  readonly index: number;
  readonly number: number;
  readonly worker: string;
  readonly state: string;
  readonly cause: string | null;
  readonly startedAt: number | null;
  readonly endedAt: number | null;
  readonly data: Uint8Array;
}

/** An endpoint, as it is kept. */
export interface EndpointRow {
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly metadata: string;
  readonly attempt: string;
  readonly owner: string;
}

/** What one user may use at a time, as it is kept. */
export interface BudgetRow {
  readonly user: string;
  readonly amount: number;
}

/** What changes together. */
export interface Changes {
  /** Rows that are new. */
  readonly newJobs: readonly JobRow[];
  /** What has changed of jobs that are there. */
  readonly jobs: readonly Pick<JobRow, "uid" | "state" | "endedAt" | "data">[];
  readonly tasks: readonly TaskRow[];
  readonly attempts: readonly AttemptRow[];
  /** What tasks' functions returned; null: it is discarded. */
  readonly values: readonly { readonly job: string; readonly index: number; readonly value: Uint8Array | null }[];
  readonly submissions: readonly { readonly id: string; readonly job: string; readonly digest: string }[];
  readonly endpoints: readonly EndpointRow[];
  readonly removedEndpoints: readonly string[];
  /** An amount of null is no budget any more. */
  readonly budgets: readonly { readonly user: string; readonly amount: number | null }[];
}

/** Chooses jobs for {@link Store.list}. */
export interface JobFilter {
  readonly user?: string;
  readonly states?: readonly string[];
  /** Beginning of their ids. */
  readonly prefix?: string;
  readonly limit: number;
}

const jobColumns = 'uid, id, name, user, parent, state, submitted_at AS "submittedAt", ended_at AS "endedAt", spec, sealed, data';
const taskColumns = 'job, task_index AS "index", state, attempts, worker, cause, seq, data';

/**
 * The controller's database. All writing goes through {@link commit}, one transaction a call. It survives the death of the process at any
 * moment; what was committed just before a power cut may be lost (WAL, `synchronous = NORMAL`), never the database.
 */
export class Store {
  readonly #database: Database.Database;
  readonly #statements = new Map<string, Database.Statement>();

  private constructor(database: Database.Database) {
    this.#database = database;
  }

  /**
   * Opens a database, and makes or migrates it.
   *
   * @param path - its file; ":memory:" for one that ends with this process
   * @throws MarinError IRIS_STORE_VERSION (a later version has written it), IRIS_STORE_FAILED (it cannot be opened or is damaged)
   */
  static async open(path: string): Promise<Store> {
    // Only who runs a controller loads it.
    const { default: Libsql } = await import("libsql");
    try {
      if (path !== ":memory:") makeDirectorySync(dirname(path));
      const database = new Libsql(path);
      try {
        database.pragma("journal_mode = WAL");
        database.pragma("synchronous = NORMAL");
        migrate(database, path);
      } catch (error) {
        database.close();
        throw error;
      }
      return new Store(database);
    } catch (cause) {
      throw storeError(cause, `The database ${path} cannot be opened`, { path });
    }
  }

  /**
   * Writes what changes together, or nothing of it.
   *
   * @throws MarinError IRIS_STORE_FAILED
   */
  commit(changes: Changes): void {
    try {
      this.#run("BEGIN IMMEDIATE");
      try {
        this.#write(changes);
        this.#run("COMMIT");
      } catch (error) {
        if (this.#database.inTransaction) this.#run("ROLLBACK");
        throw error;
      }
    } catch (cause) {
      throw storeError(cause, "The controller's database takes no changes", {});
    }
  }

  /** The jobs that have not ended, first submitted first. */
  liveJobs(): JobRow[] {
    return this.#all<JobRow>(`SELECT ${jobColumns} FROM jobs WHERE ended_at IS NULL ORDER BY rowid`);
  }

  /** The job with that uid. */
  job(uid: string): JobRow | undefined {
    return this.#get<JobRow>(`SELECT ${jobColumns} FROM jobs WHERE uid = ?`, uid);
  }

  /** The latest job with that id. */
  latest(id: string): JobRow | undefined {
    return this.#get<JobRow>(`SELECT ${jobColumns} FROM jobs WHERE id = ? ORDER BY rowid DESC LIMIT 1`, id);
  }

  /** The tasks of a job, by index. */
  tasks(uid: string): TaskRow[] {
    return this.#all<TaskRow>(`SELECT ${taskColumns} FROM tasks WHERE job = ? ORDER BY task_index`, uid);
  }

  /** The attempts of a job that have ended, by task and number. */
  attempts(uid: string): Pick<AttemptRow, "index" | "data">[] {
    return this.#all('SELECT task_index AS "index", data FROM attempts WHERE job = ? ORDER BY task_index, number', uid);
  }

  /** What the tasks of a job returned, by index; null where there is nothing. */
  values(uid: string, count: number): (Uint8Array | null)[] {
    const values = Array.from({ length: count }, (): Uint8Array | null => null);
    for (const { index, value } of this.#all<{ index: number; value: Uint8Array }>('SELECT task_index AS "index", value FROM results WHERE job = ?', uid)) values[index] = value;
    return values;
  }

  /** Bytes of those together. */
  valueBytes(uid: string): number {
    return this.#get<{ bytes: number | null }>("SELECT sum(length(value)) AS bytes FROM results WHERE job = ?", uid)?.bytes ?? 0;
  }

  /** What one task of a job returned. */
  value(uid: string, index: number): Uint8Array | null {
    return this.#get<{ value: Uint8Array | null }>("SELECT value FROM results WHERE job = ? AND task_index = ?", uid, index)?.value ?? null;
  }

  /** What was submitted under that submission id. */
  submission(id: string): { readonly job: string; readonly digest: string } | undefined {
    return this.#get<{ job: string; digest: string }>("SELECT job, digest FROM submissions WHERE id = ?", id);
  }

  /** Uids of the jobs that a filter chooses, last submitted first. */
  list({ user, states, prefix, limit }: JobFilter): string[] {
    const conditions: string[] = [];
    const values: unknown[] = [];
    if (user !== undefined) {
      conditions.push("user = ?");
      values.push(user);
    }
    if (states !== undefined) {
      conditions.push(`state IN (${states.map(() => "?").join(", ")})`);
      values.push(...states);
    }
    if (prefix !== undefined) {
      conditions.push("substr(id, 1, ?) = ?");
      values.push(prefix.length, prefix);
    }
    const where = conditions.length === 0 ? "" : `WHERE ${conditions.join(" AND ")}`;
    return this.#all<{ uid: string }>(`SELECT uid FROM jobs ${where} ORDER BY rowid DESC LIMIT ?`, ...values, limit).map(({ uid }) => uid);
  }

  /** All endpoints. */
  endpoints(): EndpointRow[] {
    return this.#all<EndpointRow>("SELECT id, name, address, metadata, attempt, owner FROM endpoints");
  }

  /** All budgets. */
  budgets(): BudgetRow[] {
    return this.#all<BudgetRow>("SELECT user, amount FROM budgets");
  }

  /**
   * Forgets jobs that ended long ago: all but the latest of them.
   *
   * @param keep - how many jobs that have ended are kept
   * @returns the uids of those forgotten
   */
  forget(keep: number): string[] {
    const uids = this.#all<{ uid: string }>("SELECT uid FROM jobs WHERE ended_at IS NOT NULL ORDER BY ended_at DESC, rowid DESC LIMIT -1 OFFSET ?", keep).map(({ uid }) => uid);
    if (uids.length === 0) return [];
    this.#run("BEGIN IMMEDIATE");
    for (const uid of uids) {
      for (const [table, column] of [["jobs", "uid"], ["tasks", "job"], ["attempts", "job"], ["results", "job"], ["submissions", "job"]] as const) this.#run(`DELETE FROM ${table} WHERE ${column} = ?`, uid);
    }
    this.#run("COMMIT");
    return uids;
  }

  /** Counts this start of a controller, and gives the number. */
  nextEpoch(): number {
    this.#run("UPDATE meta SET value = value + 1 WHERE key = 'epoch'");
    return this.#get<{ value: number }>("SELECT value FROM meta WHERE key = 'epoch'")?.value ?? 0;
  }

  /** Closes the database. */
  close(): void {
    this.#database.close();
  }

  #write({ newJobs, jobs, tasks, attempts, values, submissions, endpoints, removedEndpoints, budgets }: Changes): void {
    for (const { uid, id, name, user, parent, state, submittedAt, endedAt, spec, sealed, data } of newJobs) {
      this.#run("INSERT INTO jobs (uid, id, name, user, parent, state, submitted_at, ended_at, spec, sealed, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", uid, id, name, user, parent, state, submittedAt, endedAt, spec, sealed, data);
    }
    for (const { uid, state, endedAt, data } of jobs) this.#run("UPDATE jobs SET state = ?, ended_at = ?, data = ? WHERE uid = ?", state, endedAt, data, uid);
    for (const { job, index, state, attempts: count, worker, cause, seq, data } of tasks) {
      this.#run("INSERT OR REPLACE INTO tasks (job, task_index, state, attempts, worker, cause, seq, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?)", job, index, state, count, worker, cause, seq, data);
    }
    for (const { uid, job, index, number, worker, state, cause, startedAt, endedAt, data } of attempts) {
      this.#run("INSERT INTO attempts (uid, job, task_index, number, worker, state, cause, started_at, ended_at, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", uid, job, index, number, worker, state, cause, startedAt, endedAt, data);
    }
    for (const { job, index, value } of values) {
      if (value === null) this.#run("DELETE FROM results WHERE job = ? AND task_index = ?", job, index);
      else this.#run("INSERT OR REPLACE INTO results (job, task_index, value) VALUES (?, ?, ?)", job, index, value);
    }
    for (const { id, job, digest } of submissions) this.#run("INSERT INTO submissions (id, job, digest) VALUES (?, ?, ?)", id, job, digest);
    for (const id of removedEndpoints) this.#run("DELETE FROM endpoints WHERE id = ?", id);
    for (const { id, name, address, metadata, attempt, owner } of endpoints) {
      this.#run("INSERT INTO endpoints (id, name, address, metadata, attempt, owner) VALUES (?, ?, ?, ?, ?, ?)", id, name, address, metadata, attempt, owner);
    }
    for (const { user, amount } of budgets) {
      if (amount === null) this.#run("DELETE FROM budgets WHERE user = ?", user);
      else this.#run("INSERT OR REPLACE INTO budgets (user, amount) VALUES (?, ?)", user, amount);
    }
  }

  #statement(sql: string): Database.Statement {
    let statement = this.#statements.get(sql);
    if (statement === undefined) this.#statements.set(sql, (statement = this.#database.prepare(sql)));
    return statement;
  }

  #run(sql: string, ...values: readonly unknown[]): void {
    this.#statement(sql).run(...values);
  }

  #get<T>(sql: string, ...values: readonly unknown[]): T | undefined {
    return this.#statement(sql).get(...values) as T | undefined;
  }

  #all<T>(sql: string, ...values: readonly unknown[]): T[] {
    const rows = this.#statement(sql).all(...values) as Record<string, unknown>[];
    // The library gives blobs as Buffers one at a time, and as ArrayBuffers here.
    for (const row of rows) for (const [column, value] of Object.entries(row)) if (value instanceof ArrayBuffer) row[column] = Buffer.from(value);
    return rows as T[];
  }
}

function migrate(database: Database.Database, path: string): void {
  const [row] = database.pragma("user_version") as { readonly user_version: number }[];
  const version = row?.user_version ?? 0;
  if (version > migrations.length) {
    throw new MarinError("IRIS_STORE_VERSION", `The database ${path} has version ${String(version)}, and this version of iris knows up to ${String(migrations.length)}: use the iris that wrote it, or a later one.`, {
      data: { path, version, known: migrations.length },
    });
  }
  for (const [index, migration] of migrations.entries()) {
    if (index < version) continue;
    database.exec(`BEGIN IMMEDIATE; ${migration}; PRAGMA user_version = ${String(index + 1)}; COMMIT;`);
  }
}

function storeError(cause: unknown, what: string, data: Record<string, unknown>): MarinError {
  if (cause instanceof MarinError) return cause;
  const { message, code } = cause as Error & { readonly code?: string };
  return new MarinError("IRIS_STORE_FAILED", `${what}: ${message}. Look at the disk's space and permissions; a damaged file can be replaced by a copy.`, { data: { ...data, ...(code === undefined ? {} : { sqlite: code }) }, cause });
}
