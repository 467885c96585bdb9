import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How file operations go wrong from a certain one on. */
export interface Fault {
  /** How many operations that change the disk succeed first. */
  readonly after: number;
  /** `once`: one operation fails as on a full disk, removals excepted. `crash`: nothing changes the disk any more, as after a kill. */
  readonly mode: "once" | "crash";
}

type Operation = (...args: unknown[]) => Promise<unknown>;

/**
 * Runs `body` while operations of node:fs/promises that change the disk (open to write, write, flush, rename, make, remove) fail as `fault` says.
 * Everything runs for real up to there. Returns the number of operations tried and what was thrown.
 */
export async function withFault(fault: Fault, body: () => Promise<unknown>): Promise<{ operations: number; error: unknown }> {
  let operations = 0;
  const guard = (original: Operation): Operation =>
    function guarded(this: unknown, ...args: unknown[]) {
      operations += 1;
      const failing = fault.mode === "once" ? operations === fault.after + 1 : operations > fault.after;
      if (failing) return Promise.reject(Object.assign(new Error("ENOSPC: no space left on device"), { code: "ENOSPC", syscall: "write" }));
      return original.apply(this, args);
    };
  const functions = fs.promises as unknown as Record<string, Operation>;
  const probe = await fs.promises.open(join(tmpdir(), `levanter-probe-${String(process.pid)}`), "w");
  const handles = Object.getPrototypeOf(probe) as Record<string, Operation>;
  await probe.close();
  await fs.promises.rm(join(tmpdir(), `levanter-probe-${String(process.pid)}`));
  const restore = [
    ...["rename", "mkdir", "writeFile", "link", ...(fault.mode === "crash" ? ["rm"] : [])].map((name) => replace(functions, name, guard)),
    ...["write", "writeFile", "sync", "appendFile", "truncate"].map((name) => replace(handles, name, guard)),
    replace(functions, "open", (original) => {
      const guarded = guard(original);
      return (path, flags, ...rest) => (flags === "r" ? original(path, flags, ...rest) : guarded(path, flags, ...rest));
    }),
  ];
  syncBuiltinESMExports();
  try {
    await body();
    return { operations, error: undefined };
  } catch (error) {
    return { operations, error };
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
