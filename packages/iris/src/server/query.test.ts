import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import Database from "libsql";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Queries } from "./query.js";

let directory: string;
let path: string;
let queries: Queries;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-query-"));
  path = join(directory, "iris.db");
  const database = new Database(path);
  database.pragma("journal_mode = WAL");
  database.exec("CREATE TABLE jobs (uid TEXT, size INTEGER, data BLOB); INSERT INTO jobs VALUES ('a', 1, x'0102'), ('b', 9007199254740993, NULL), ('c', 2.5, 'text')");
  database.close();
  queries = new Queries(path);
});
afterAll(async () => {
  await queries.close();
  await rm(directory, { recursive: true, force: true });
});

describe("Queries", { timeout: 60_000 }, () => {
  it("gives columns and rows, and says when there are more", async () => {
    expect(await queries.run("-- all\nSELECT uid, data, size AS bytes FROM jobs WHERE uid <> 'b' ORDER BY uid")).toEqual({
      columns: ["uid", "data", "bytes"],
      rows: [["a", "2 bytes", 1], ["c", "text", 2.5]],
      truncated: false,
    });
    expect(await queries.run("with x as (select uid from jobs order by uid) select * from x", { maxRows: 2 })).toEqual({ columns: ["uid"], rows: [["a"], ["b"]], truncated: true });
  });

  it("does not mistake a semicolon in a text or a comment for a second statement", async () => {
    expect((await queries.run("SELECT ';x', \"uid\" FROM jobs /* ; */ WHERE uid = 'a'; -- ; more")).rows).toEqual([[";x", "a"]]);
  });

  it("reads only: nothing is written, anywhere, and no other file is opened", async () => {
    const before = await readdir(directory);
    const other = join(directory, "other.db");
    for (const sql of [
      "INSERT INTO jobs VALUES ('x', 1, NULL)",
      "with x as (select 1) delete from jobs",
      "SELECT 1; DROP TABLE jobs",
      `VACUUM INTO '${other}'`,
      `ATTACH '${other}' AS other`,
      "PRAGMA user_version = 7",
      "SELECT load_extension('x')",
      "/* SELECT */ UPDATE jobs SET size = 1",
      "SELECT nothing FROM nowhere",
      "",
    ]) {
      await expect(queries.run(sql), sql).rejects.toMatchObject({ code: "IRIS_BAD_QUERY" });
    }
    expect((await readdir(directory)).filter((name) => !before.includes(name) && !/-(?:wal|shm)$/.test(name))).toEqual([]);
    expect((await queries.run("SELECT count(*), sum(uid = 'a') FROM jobs")).rows).toEqual([[3, 1]]);
  });

  it("ends a statement that takes too long, or that nobody waits for", async () => {
    const endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n";
    await expect(queries.run(endless, { timeoutMs: 50 })).rejects.toMatchObject({ code: "IRIS_QUERY_TIMEOUT" });
    const reason = new Error("enough");
    const controller = new AbortController();
    const running = queries.run(endless, { signal: controller.signal });
    const waiting = queries.run("SELECT 1");
    setImmediate(() => controller.abort(reason));
    await expect(running).rejects.toBe(reason);
    expect((await waiting).rows).toEqual([[1]]);
  });
});
