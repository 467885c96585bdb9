import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { lockDirectory, withFileLock } from "./locks.js";
import { ownIdentity } from "./process-identity.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "rigging-locks-"));
});
afterEach(() => rm(directory, { recursive: true }));

/** Another process that tries to lock the directory and then stays; resolves to what it printed. */
async function rival(): Promise<{ readonly child: ChildProcess; readonly outcome: string }> {
  const code = `
    const { lockDirectory } = await import(${JSON.stringify(new URL("./locks.ts", import.meta.url).href)});
    console.log(await lockDirectory(${JSON.stringify(directory)}).then(() => "held", (error) => error.code));
    process.stdin.resume();
  `;
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", "--input-type=module", "-e", code], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const [output] = (await once(child.stdout, "data")) as [Buffer];
  return { child, outcome: output.toString().trim() };
}

async function kill(child: ChildProcess): Promise<void> {
  child.kill("SIGKILL");
  await once(child, "exit");
}

test("a held directory is refused to this process, released it is free, and nothing stays in it", async () => {
  const inner = join(directory, "made", "when", "missing");
  const lock = await lockDirectory(inner);
  await expect(lockDirectory(inner)).rejects.toMatchObject({ code: "RIGGING_LOCKED", data: { pid: process.pid } });
  await lock.release();
  await lock.release();
  expect(await readdir(inner)).toEqual([]);
  const again = await lockDirectory(inner);
  await lock.release();
  expect(await readdir(inner)).toEqual([".lock"]);
  await again.release();
});

test("another process's lock is refused naming its pid; once it is killed the lock is taken over at once", async () => {
  const { child, outcome } = await rival();
  expect(outcome).toBe("held");
  const refused = lockDirectory(directory);
  await expect(refused).rejects.toMatchObject({ code: "RIGGING_LOCKED", data: { pid: child.pid, elsewhere: false } });
  await expect(refused).rejects.toThrow(`process ${String(child.pid)}`);
  await kill(child);
  const lock = await lockDirectory(directory);
  expect((JSON.parse(await readFile(lock.path, "utf8")) as { owner: { pid: number } }).owner.pid).toBe(process.pid);
  expect(await readdir(directory)).toEqual([".lock"]);
  await lock.release();
});

test("of several processes that find a dead process's lock exactly one takes it over", async () => {
  await kill((await rival()).child);
  const rivals = await Promise.all([rival(), rival(), rival(), rival()]);
  expect(rivals.map(({ outcome }) => outcome).sort()).toEqual(["RIGGING_LOCKED", "RIGGING_LOCKED", "RIGGING_LOCKED", "held"]);
  expect(await readdir(directory)).toEqual([".lock"]);
  await Promise.all(rivals.map(({ child }) => kill(child)));
});

test("a process id that was given to another process since does not count as the owner", async () => {
  const lock = await lockDirectory(directory);
  const record = JSON.parse(await readFile(lock.path, "utf8")) as { owner: { started: string } };
  record.owner.started = record.owner.started === "" ? "" : `${record.owner.started}0`;
  await writeFile(lock.path, JSON.stringify(record));
  if (record.owner.started !== "") await expect(lockDirectory(directory)).resolves.toBeDefined();
});

test("the lock of a process elsewhere is respected, and the message says how to remove it", async () => {
  const lock = await lockDirectory(directory);
  const record = JSON.parse(await readFile(lock.path, "utf8")) as { owner: { scope: string; pid: number } };
  record.owner = { ...record.owner, scope: "0123456789ab", pid: 999_999_999 };
  await writeFile(lock.path, JSON.stringify(record));
  const refused = lockDirectory(directory);
  await expect(refused).rejects.toMatchObject({ code: "RIGGING_LOCKED", data: { elsewhere: true } });
  await expect(refused).rejects.toThrow(`remove ${lock.path}`);
});

test("a file that is no lock of ours is not removed", async () => {
  await writeFile(join(directory, ".lock"), "hello");
  await expect(lockDirectory(directory)).rejects.toMatchObject({ code: "RIGGING_BAD_LOCK" });
  expect(await readFile(join(directory, ".lock"), "utf8")).toBe("hello");
});

test("a lock held for another process tells whether that one is gone", async () => {
  const { child } = await rival();
  await kill(child);
  const lock = await lockDirectory(join(directory, "worker"), { onBehalfOf: ownIdentity() });
  await expect(lockDirectory(join(directory, "worker"))).rejects.toMatchObject({ code: "RIGGING_LOCKED", data: { orphaned: false } });
  await lock.release();
  const gone = { ...ownIdentity(), pid: child.pid ?? 0 };
  const orphan = await lockDirectory(join(directory, "worker"), { onBehalfOf: gone });
  await expect(lockDirectory(join(directory, "worker"))).rejects.toMatchObject({ code: "RIGGING_LOCKED", data: { orphaned: true } });
  await orphan.release();
});

test("work under a file's lock is done one after the other; a killed process's lock is taken over; whoever waits too long is told who holds it", async () => {
  const path = join(directory, "file.write-lock");
  let inside = 0;
  const work = async (): Promise<void> => {
    expect((inside += 1)).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    inside -= 1;
  };
  await Promise.all(Array.from({ length: 6 }, () => withFileLock(path, work)));
  expect(await readdir(directory)).toEqual([]);
  const code = `
    const { withFileLock } = await import(${JSON.stringify(new URL("./locks.ts", import.meta.url).href)});
    await withFileLock(${JSON.stringify(path)}, () => (console.log("inside"), new Promise(() => setInterval(() => undefined, 1000))));
  `;
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", "--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  await once(child.stdout, "data");
  await expect(withFileLock(path, work, { timeoutMs: 0 })).rejects.toMatchObject({ code: "RIGGING_LOCKED", data: { pid: child.pid } });
  await expect(withFileLock(path, work, { signal: AbortSignal.abort(new Error("stop")) })).rejects.toThrow("stop");
  const waiting = withFileLock(path, work);
  await kill(child);
  await waiting;
  await expect(withFileLock(path, () => Promise.reject(new Error("boom")))).rejects.toThrow("boom");
  expect(await readdir(directory)).toEqual([]);
});
