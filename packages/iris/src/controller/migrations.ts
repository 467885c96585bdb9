/**
 * Steps from an empty database to the present form, each in a transaction of its own; the database's `user_version` counts those done. What
 * has been released is never changed, only followed.
 */
export const migrations: readonly string[] = [
  `CREATE TABLE jobs (
    uid TEXT PRIMARY KEY,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    user TEXT NOT NULL,
    parent TEXT,
    state TEXT NOT NULL,
    submitted_at INTEGER NOT NULL,
    ended_at INTEGER,
    spec TEXT NOT NULL,
    sealed BLOB NOT NULL,
    data BLOB NOT NULL
  );
  CREATE INDEX jobs_by_id ON jobs (id);
  CREATE INDEX jobs_live ON jobs (ended_at) WHERE ended_at IS NULL;
  CREATE INDEX jobs_ended ON jobs (ended_at) WHERE ended_at IS NOT NULL;
  CREATE TABLE tasks (
    job TEXT NOT NULL,
    task_index INTEGER NOT NULL,
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    worker TEXT,
    cause TEXT,
    seq INTEGER NOT NULL,
    data BLOB NOT NULL,
    PRIMARY KEY (job, task_index)
  ) WITHOUT ROWID;
  CREATE TABLE attempts (
    uid TEXT PRIMARY KEY,
    job TEXT NOT NULL,
    task_index INTEGER NOT NULL,
    number INTEGER NOT NULL,
    worker TEXT NOT NULL,
    state TEXT NOT NULL,
    cause TEXT,
    started_at INTEGER,
    ended_at INTEGER,
    data BLOB NOT NULL
  ) WITHOUT ROWID;
  CREATE INDEX attempts_by_job ON attempts (job, task_index, number);
  CREATE TABLE results (job TEXT NOT NULL, task_index INTEGER NOT NULL, value BLOB NOT NULL, PRIMARY KEY (job, task_index));
  CREATE TABLE submissions (id TEXT PRIMARY KEY, job TEXT NOT NULL, digest TEXT NOT NULL) WITHOUT ROWID;
  CREATE INDEX submissions_by_job ON submissions (job);
  CREATE TABLE endpoints (
    id TEXT PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    address TEXT NOT NULL,
    metadata TEXT NOT NULL,
    attempt TEXT NOT NULL,
    owner TEXT NOT NULL
  ) WITHOUT ROWID;
  CREATE TABLE budgets (user TEXT PRIMARY KEY, amount REAL NOT NULL) WITHOUT ROWID;
  CREATE TABLE meta (key TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID;
  INSERT INTO meta (key, value) VALUES ('epoch', 0)`,
];
