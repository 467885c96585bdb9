import { execFileSync, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("parent.ts", import.meta.url));

/** Pids of living processes whose command line names the tag. */
function processesOf(tag: string): number[] {
  const table = execFileSync("ps", ["-eo", "pid=,stat=,args="], { encoding: "utf8", maxBuffer: 2 ** 24 });
  return table
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\S+)\s+(.*)$/.exec(line))
    .filter((row) => row !== null && row[3]?.includes(tag) === true && row[2]?.startsWith("Z") === false)
    .map((row) => Number(row?.[1]));
}

/** What one round of {@link killAtRandom} saw. */
export interface KillRound {
  /** Processes of the chain at the time of the kill. */
  readonly before: number;
  /** Processes still there after 5 s. */
  readonly left: number;
  /** Milliseconds until none was left, or 5000. */
  readonly tookMs: number;
}

/**
 * Starts a program with a chain of three workers, the last of which spins, and kills one of the four with -9 some time later, often while
 * others of them are only starting.
 *
 * @param delayMs - time before the kill
 * @param victim - which of the processes found then, as a fraction
 */
export async function killAtRandom(delayMs: number, victim: number): Promise<KillRound> {
  const tag = `chain-${randomUUID()}`;
  const parent = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, "nest", tag], { stdio: "ignore" });
  await setTimeout(delayMs);
  const before = processesOf(tag);
  const killed = before[Math.floor(victim * before.length)];
  const at = performance.now();
  if (killed !== undefined) process.kill(killed, "SIGKILL");
  // A victim low in the chain leaves its parent alive, which ends by itself when its call fails.
  let left = processesOf(tag);
  while (left.length > 0 && performance.now() - at < 5_000) {
    await setTimeout(50);
    left = processesOf(tag);
  }
  for (const pid of left) process.kill(pid, "SIGKILL");
  parent.kill("SIGKILL");
  return { before: before.length, left: left.length, tookMs: performance.now() - at };
}
