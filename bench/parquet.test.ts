import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { bench, usage } from "./parquet.js";
import type { ParquetReport } from "./parquet/protocol.js";
import { makeRows } from "./parquet/workload.js";

const directory = mkdtempSync(join(tmpdir(), "marin-bench-parquet-test-"));
const path = join(directory, "rows.parquet");
const run = (program: string, ...flags: string[]): string =>
  execFileSync(process.execPath, ["--conditions=@marin/source", "--import", "tsx", fileURLToPath(new URL(`./peers/${program}`, import.meta.url)), ...flags, "--megabytes", "1"], { encoding: "utf8" });
beforeAll(() => void run("parquet-files.ts", "--path", path), 60_000);
afterAll(() => rmSync(directory, { recursive: true }));

test.each([
  ["zephyr", "read"],
  ["duckdb", "write"],
])("%s: %s gives its times, and has read what was there", (side, phase) => {
  const target = phase === "write" ? join(directory, `${side}.parquet`) : path;
  const report = JSON.parse(run("parquet-peer.ts", "--side", side, "--phase", phase, "--path", target, "--repeats", "2")) as ParquetReport;
  expect(report.times).toHaveLength(2);
  for (const { seconds, cpuSeconds } of report.times) expect(Math.min(seconds, cpuSeconds)).toBeGreaterThan(0);
  if (phase === "read") expect(report.seen).toBe(makeRows(1).reduce((sum, { text }) => sum + text.length, 0));
  if (phase === "write") expect(report.bytes).toBeGreaterThan(300_000);
}, 60_000);

test("the command line is checked", async () => {
  await expect(bench(["--peers", "carrier-pigeon"])).rejects.toThrow("there are zephyr, duckdb");
  await expect(bench(["--phases", "sing"])).rejects.toThrow("there are read, columns, write");
  await expect(bench(["--rounds", "0"])).rejects.toThrow("--rounds 0");
  expect(usage).toContain("polars");
});
