import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import threads, { type WorkerOptions } from "node:worker_threads";

/** How file operations go wrong from a certain one on. */
export interface Fault {
  /** How many operations that change the disk succeed first. */
  readonly after: number;
  /**
   * `once`: one operation fails as on a full disk, removals excepted. `crash`: nothing changes the disk any more, as after a kill; a thread's write gets
   * half of its bytes there. `kill`: the process is killed.
   */
  readonly mode: "once" | "crash" | "kill";
}

type Operation = (...args: unknown[]) => Promise<unknown>;

/** Put before the code of threads that are started as text: their synchronous operations are counted with those of the main thread, and fail likewise. */
const IN_THREAD = `{
  const fs = require("node:fs");
  const { counter, after, mode } = require("node:worker_threads").workerData;
  for (const name of ["openSync", "writeSync", "fsyncSync"]) {
    const original = fs[name];
    fs[name] = (...args) => {
      if (name === "openSync" && args[1] === "r") return original(...args);
      const number = Atomics.add(counter, 0, 1) + 1;
      if (mode === "once" ? number !== after + 1 : number <= after) return original(...args);
      if (mode !== "once" && number === after + 1 && name === "writeSync") original(args[0], args[1], args[2], args[3] >> 1);
      if (mode === "kill") process.kill(process.pid, "SIGKILL");
      throw Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", syscall: "write" });
    };
  }
}`;

/**
 * Runs `body` while operations that change the disk (open to write, write, flush, rename, make, remove), of node:fs/promises here and of node:fs in
 * threads that are started meanwhile, fail as `fault` says. Everything runs for real up to there. Returns the number of operations tried and what was
 * thrown.
 */
export async function withFault(fault: Fault, body: () => Promise<unknown>): Promise<{ operations: number; error: unknown }> {
  const counter = new Int32Array(new SharedArrayBuffer(4));
  const guard = (original: Operation): Operation =>
    function guarded(this: unknown, ...args: unknown[]) {
      const number = Atomics.add(counter, 0, 1) + 1;
      const failing = fault.mode === "once" ? number === fault.after + 1 : number > fault.after;
      if (failing && fault.mode === "kill") process.kill(process.pid, "SIGKILL");
      if (failing) return Promise.reject(Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", syscall: "write" }));
      return original.apply(this, args);
    };
  const functions = fs.promises as unknown as Record<string, Operation>;
  const probe = await fs.promises.open(join(tmpdir(), `levanter-probe-${String(process.pid)}`), "w");
  const handles = Object.getPrototypeOf(probe) as Record<string, Operation>;
  await probe.close();
  await fs.promises.rm(join(tmpdir(), `levanter-probe-${String(process.pid)}`));
  const Original = threads.Worker;
  const restore = [
    ...["rename", "mkdir", "writeFile", "link", ...(fault.mode === "once" ? [] : ["rm"])].map((name) => replace(functions, name, guard)),
    ...["write", "writeFile", "sync", "appendFile", "truncate"].map((name) => replace(handles, name, guard)),
    replace(functions, "open", (original) => {
      const guarded = guard(original);
      return (path, flags, ...rest) => (flags === "r" ? original(path, flags, ...rest) : guarded(path, flags, ...rest));
    }),
    () => {
      threads.Worker = Original;
    },
  ];
  threads.Worker = class extends Original {
    constructor(code: string | URL, options?: WorkerOptions) {
      if (options?.eval === true) super(IN_THREAD + String(code), { ...options, workerData: { counter, ...fault } });
      else super(code, options);
    }
  };
  syncBuiltinESMExports();
  try {
    await body();
    return { operations: counter[0] ?? 0, error: undefined };
  } catch (error) {
    return { operations: counter[0] ?? 0, error };
  } finally {
    for (const undo of restore) undo();
    syncBuiltinESMExports();
  }
}

function replace(owner: Record<string, Operation>, name: string, by: (original: Operation) => Operation): () => void {
  const original = owner[name];
  if (original === undefined) throw new Error(`there is no ${name}`);
  owner[name] = by(original);
  return () => {
    owner[name] = original;
  };
}
