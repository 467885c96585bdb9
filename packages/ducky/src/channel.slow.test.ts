import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { ledger } from "../test/ledger-server.js";
import { Channel, isMarinError } from "./index.js";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("a server killed with -9 under load, eight times: no call is carried out twice, none that was answered is missing, idempotent ones all finish", async () => {
  const directory = mkdtempSync(join(tmpdir(), "ducky-ledger-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  const file = join(directory, "ledger");
  writeFileSync(file, "");
  const script = fileURLToPath(new URL("../test/ledger-server.ts", import.meta.url));
  let child: ChildProcess | undefined;
  let url = "";
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, file], { stdio: ["ignore", "pipe", "inherit"] });
    if (child.stdout !== null) url = String(((await once(child.stdout, "data")) as [Buffer])[0]).trim();
  };
  cleanups.push(() => child?.kill("SIGKILL"));
  await start();
  const channel = new Channel({ resolve: () => url, backoff: { initialMs: 5, maxMs: 100 }, maxAttempts: 100, maxWaitMs: 120_000 });
  cleanups.push(() => channel.close());
  const client = channel.client(ledger);
  const answered = new Set<number>();
  const unknown = new Set<number>();
  const again = new Set<number>();
  let next = 0;
  let stop = false;
  const callers = Array.from({ length: 16 }, async (_, place) => {
    while (!stop) {
      const n = (next += 1);
      if (place % 4 === 0) {
        again.add(await client.again(n));
        continue;
      }
      try {
        answered.add(await client.once(n));
      } catch (error) {
        if (!isMarinError(error, "DUCKY_CLOSED")) throw error;
        unknown.add(n);
      }
    }
  });
  for (let kills = 0; kills < 8; kills += 1) {
    const before = answered.size;
    await expect.poll(() => answered.size, { timeout: 120_000 }).toBeGreaterThan(before + 50 + 37 * kills);
    child?.kill("SIGKILL");
    await start();
  }
  stop = true;
  await Promise.all(callers);
  const lines = readFileSync(file, "utf8").trim().split("\n");
  const carriedOut = lines.filter((line) => line.startsWith("once ")).map((line) => Number(line.slice(5)));
  expect(new Set(carriedOut).size).toBe(carriedOut.length);
  const done = new Set(carriedOut);
  expect([...answered].filter((n) => !done.has(n))).toEqual([]);
  expect(carriedOut.filter((n) => !answered.has(n) && !unknown.has(n))).toEqual([]);
  const repeatable = new Set(lines.filter((line) => line.startsWith("again ")).map((line) => Number(line.slice(6))));
  expect([...again].filter((n) => !repeatable.has(n))).toEqual([]);
  expect(unknown.size).toBeGreaterThan(0);
});
