import { readdir, readFile } from "node:fs/promises";

import { vi } from "vitest";

/** Environment variable by which the processes of one run are told from all others: children inherit it. */
export const MARK = "MARIN_TEST_RUN";

/** Whether the processes of a run can be found on this system. */
export const canFindProcesses = process.platform === "linux";

/** A running process. */
export interface RunningProcess {
  readonly pid: number;
  readonly command: string;
}

/** The processes of a run that are alive: the command, its workers, and theirs. */
export async function processesOf(mark: string): Promise<RunningProcess[]> {
  const found: RunningProcess[] = [];
  for (const name of await readdir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const read = (file: string): Promise<string> => readFile(`/proc/${name}/${file}`, "utf8").catch(() => "");
    // A killed process that its parent has not reaped yet has no environment any more.
    if ((await read("environ")).split("\0").includes(`${MARK}=${mark}`)) found.push({ pid: Number(name), command: (await read("cmdline")).replaceAll("\0", " ").trim() });
  }
  return found;
}

/** Waits until no process of a run is left; fails when one is after five seconds. */
export async function untilNoneIsLeft(mark: string): Promise<void> {
  await vi.waitFor(
    async () => {
      const left = await processesOf(mark);
      if (left.length > 0) throw new Error(`left behind: ${left.map(({ pid, command }) => `${pid} ${command.split(" ").slice(-4).join(" ")}`).join("; ")}`);
    },
    { timeout: 5000, interval: 100 },
  );
}
