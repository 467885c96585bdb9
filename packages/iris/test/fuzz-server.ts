import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { launch } from "@marin/fray";
import fc from "fast-check";
import { expect } from "vitest";
import { exchange, rawRequests } from "./http-fuzz.js";

/** How long an answer may take before the server counts as hanging. It is generous: the machine may be busy. */
const hangMs = 60_000;

/** Requests under way at once. */
const atOnce = 16;

/** Bytes by which the server's heap may have grown at the end. */
const growth = 64 << 20;

/**
 * Sends a server so many wrong requests without a credential, half of them, and with one. It must answer or close each, refuse all but /health to those without, go on answering right
 * requests, and hold no more memory afterwards.
 */
export async function fuzzServer(cases: number, seed: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "iris-fuzz-"));
  const main = fileURLToPath(new URL("./fixtures/fuzzed-server.ts", import.meta.url));
  const child = spawn(process.execPath, [...launch().execArgv, "--expose-gc", "--max-old-space-size=512", main, directory], { stdio: ["pipe", "pipe", "inherit"], env: { ...process.env, NODE_OPTIONS: "" } });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const next = async (): Promise<Record<string, unknown>> => {
    const { value, done } = await lines.next();
    if (done === true) throw new Error(`the server has ended: exit code ${String(child.exitCode)}, signal ${String(child.signalCode)}`);
    return JSON.parse(value) as Record<string, unknown>;
  };
  const memory = async (): Promise<number> => {
    child.stdin.write("\n");
    return (await next())["heap"] as number;
  };
  try {
    const { port, key } = (await next()) as { readonly port: number; readonly key: string };
    const health = async (): Promise<void> => expect((await fetch(`http://127.0.0.1:${String(port)}/health`)).status).toBe(200);
    const one = async (request: readonly Buffer[], authorized: boolean): Promise<void> => {
      if (authorized) {
        const whole = Buffer.concat(request);
        const end = whole.indexOf("\r\n");
        const inserted = end < 0 ? whole : Buffer.concat([whole.subarray(0, end), Buffer.from(`\r\nAuthorization: Bearer ${key}`), whole.subarray(end)]);
        const answer = await exchange(port, [inserted], hangMs);
        if (/^HTTP\/1\.1 5\d\d/.test(answer)) throw new Error(`the server failed on ${JSON.stringify(inserted.toString("latin1").slice(0, 500))}: ${answer.slice(0, 500)}`);
        return;
      }
      const answer = await exchange(port, request, hangMs);
      for (const [, status = "", rest = ""] of answer.matchAll(/HTTP\/1\.1 (\d{3}) ([^]*?)(?=HTTP\/1\.1 \d{3} |$)/g)) {
        if (status === "100" || Number(status) >= 400) continue;
        // The one thing that is open to all.
        if (!/\{"status":"ok","version":"[^"]*"\}|^OK\r\n(?:(?!\r\n\r\n)[^])*\r\n\r\n$/.test(rest)) throw new Error(`let in without a credential: ${JSON.stringify(Buffer.concat(request).toString("latin1").slice(0, 500))} gave ${JSON.stringify(answer.slice(0, 500))}`);
      }
    };
    await run(Math.min(1_000, Math.ceil(cases / 10)), seed - 1, one);
    const before = await memory();
    await run(cases, seed, one);
    await health();
    expect((await memory()) - before).toBeLessThan(growth);
  } finally {
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
    await rm(directory, { recursive: true, force: true });
  }
}

async function run(cases: number, seed: number, one: (request: readonly Buffer[], authorized: boolean) => Promise<void>): Promise<void> {
  // Many at once: a property of its own for each batch, so that a failure is still told with its seed.
  const batch = 500;
  for (let done = 0; done < cases; done += batch) {
    const requests = fc.sample(fc.tuple(rawRequests, fc.boolean()), { numRuns: Math.min(batch, cases - done), seed: seed + done });
    for (let at = 0; at < requests.length; at += atOnce) await Promise.all(requests.slice(at, at + atOnce).map(([request, authorized]) => one(request, authorized)));
  }
}
