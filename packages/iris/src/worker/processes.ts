import { readFileSync, readdirSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Set in every process of an attempt, and so in all that they start: the attempt's uid. */
export const attemptVariable = "MARIN_IRIS_ATTEMPT";

/** Set in every process that a worker starts: the worker's own uid, kept over its restarts. */
export const workerVariable = "MARIN_IRIS_WORKER";

/** Memory that the processes of each group hold and that nobody else could have, by the group's leader. Linux only; elsewhere nothing is known. */
export function memoryOfGroups(): Map<number, number> {
  const groups = new Map<number, { own: number; shared: number }>();
  for (const pid of processIds()) {
    const group = groupOf(pid);
    if (group === undefined) continue;
    const status = readOr(`/proc/${pid}/status`);
    const sum = groups.get(group) ?? { own: 0, shared: 0 };
    groups.set(group, sum);
    // Pages of files can be dropped and are no one's; shared memory is mostly the same in all processes of a group.
    sum.own += kilobytes(status, "RssAnon");
    sum.shared = Math.max(sum.shared, kilobytes(status, "RssShmem"));
  }
  return new Map([...groups].map(([group, { own, shared }]) => [group, own + shared]));
}

/** Kills what carries a variable with that value in its environment, wherever it has moved itself, until nothing does. Linux only. */
export async function killMarked(variable: string, value: string, except: ReadonlySet<number> = new Set()): Promise<void> {
  for (let round = 0; round < 100; round += 1) {
    const found = markedProcesses(variable, value).filter((pid) => pid !== process.pid && !except.has(pid));
    if (found.length === 0) return;
    for (const pid of found) kill(pid);
    // A process that is busy being killed, or that has just started another one.
    if (round > 0) await delay(10);
  }
}

/** Processes with a variable of that value in their environment; those that are dead and not yet reaped have none. */
export function markedProcesses(variable: string, value: string): number[] {
  const mark = `${variable}=${value}`;
  return processIds()
    .filter((pid) => {
      const environment = readOr(`/proc/${pid}/environ`);
      return environment.startsWith(`${mark}\0`) || environment.includes(`\0${mark}\0`);
    })
    .map(Number);
}

/** A process, told from a later one with its id by when it began. */
export interface KnownProcess {
  readonly pid: number;
  readonly startedAt: string;
}

/** What processes have started, and that in turn, wherever it has moved itself and whatever it has made of its environment. Linux only. */
export function descendantsOf(pids: readonly number[]): KnownProcess[] {
  const all = processIds().map((id) => ({ pid: Number(id), ...statOf(id) }));
  const roots = new Set(pids);
  const found = new Set(pids);
  for (let before = 0; before < found.size; ) {
    before = found.size;
    for (const each of all) if (each.parent !== undefined && found.has(each.parent)) found.add(each.pid);
  }
  return all.flatMap(({ pid, startedAt }) => (roots.has(pid) || !found.has(pid) || startedAt === undefined ? [] : [{ pid, startedAt }]));
}

/** Kills those of the processes that still run, and what they have started, until none does. */
export async function killKnown(processes: readonly KnownProcess[]): Promise<void> {
  let known = processes;
  for (let round = 0; round < 100; round += 1) {
    known = known.filter(({ pid, startedAt }) => statOf(String(pid)).startedAt === startedAt);
    if (known.length === 0) return;
    known = [...known, ...descendantsOf(known.map(({ pid }) => pid))];
    for (const { pid } of known) kill(pid);
    await delay(round === 0 ? 1 : 10);
  }
}

/** Ids of the processes that a process has started and that still run, as one text. */
export function childrenOf(pid: number): string {
  return readOr(`/proc/${String(pid)}/task/${String(pid)}/children`);
}

/** How often the system has killed for want of memory where this process is accounted for. */
export function systemOomKills(): number {
  return Number(/^oom_kill (\d+)$/m.exec(readOr("/sys/fs/cgroup/memory.events"))?.[1] ?? 0);
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // Gone meanwhile.
  }
}

function processIds(): string[] {
  try {
    return readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  } catch {
    return [];
  }
}

function groupOf(pid: string): number | undefined {
  return statOf(pid).group;
}

interface ProcessStat {
  readonly parent?: number;
  readonly group?: number;
  readonly startedAt?: string;
}

/** Nothing of a process that is gone, or dead and not yet reaped. */
function statOf(pid: string): ProcessStat {
  // The command name stands in parentheses and may itself hold spaces and parentheses: fields start after the last one.
  const stat = readOr(`/proc/${pid}/stat`);
  const [state, parent, group, ...rest] = stat.slice(stat.lastIndexOf(")") + 2).split(" ", 20);
  const startedAt = rest[16];
  return startedAt === undefined || state === "Z" ? {} : { parent: Number(parent), group: Number(group), startedAt };
}

function kilobytes(status: string, field: string): number {
  const at = status.indexOf(`${field}:`);
  return at < 0 ? 0 : Number.parseInt(status.slice(at + field.length + 1), 10) * 1024;
}

function readOr(path: string): string {
  try {
    return readFileSync(path, "latin1");
  } catch {
    return "";
  }
}
