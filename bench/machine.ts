import { execFile } from "node:child_process";
import { availableParallelism, cpus, loadavg, totalmem } from "node:os";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

/** What a result was measured on. */
export interface Machine {
  readonly date: string;
  /** Short id of the commit, with `+` for a work tree that differs from it; null outside a repository. */
  readonly commit: string | null;
  readonly processor: string;
  readonly cores: number;
  readonly memoryBytes: number;
  readonly system: string;
  readonly node: string;
  /** Processes that wanted a core, on average over the last minute, before the benchmark started: it should be near 0. */
  readonly load: number;
}

/** Describes this machine. */
export async function describeMachine(): Promise<Machine> {
  return {
    date: new Date().toISOString(),
    commit: await commit(),
    processor: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    memoryBytes: totalmem(),
    system: `${process.platform} ${process.arch}`,
    node: process.version,
    load: loadavg()[0] ?? Number.NaN,
  };
}

async function commit(): Promise<string | null> {
  const git = async (...args: string[]): Promise<string> => (await promisify(execFile)("git", args, { cwd: fileURLToPath(new URL(".", import.meta.url)) })).stdout.trim();
  try {
    const changed = await git("status", "--porcelain", "--untracked-files=no");
    return `${await git("rev-parse", "--short", "HEAD")}${changed === "" ? "" : "+"}`;
  } catch {
    return null;
  }
}
