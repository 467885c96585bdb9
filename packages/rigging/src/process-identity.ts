import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { readFileSync, readlinkSync } from "node:fs";
import { hostname } from "node:os";
import { z } from "zod";

/**
 * Names one process for good: a process id alone may be given to another process after its owner died.
 * `started` is "" where the system does not tell when a process started.
 */
export const processIdentitySchema = z.strictObject({
  pid: z.number().int().positive().describe("process id"),
  started: z.string().describe("when the process started, in the system's own form"),
  scope: z.string().describe("short hash of the machine and process id space that the id belongs to"),
});

/** Names one process for good. */
export type ProcessIdentity = z.output<typeof processIdentitySchema>;

/** "unknown": the process belongs to another machine or container, whose processes cannot be seen from here. */
export type Liveness = "alive" | "dead" | "unknown";

let own: ProcessIdentity | undefined;

/** The identity of this process. */
export function ownIdentity(): ProcessIdentity {
  own ??= { pid: process.pid, started: inspectProcess(process.pid).started, scope: processScope() };
  return own;
}

/** Whether the process with that identity still runs. A killed process that its parent has not yet reaped is dead. */
export function livenessOf(identity: ProcessIdentity): Liveness {
  if (identity.scope !== ownIdentity().scope) return "unknown";
  try {
    process.kill(identity.pid, 0);
  } catch (error) {
    // EPERM: it exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return "dead";
  }
  const found = inspectProcess(identity.pid);
  if (found.zombie) return "dead";
  const comparable = identity.started !== "" && found.started !== "";
  return comparable && identity.started !== found.started ? "dead" : "alive";
}

function processScope(): string {
  const parts = [process.platform, hostname(), readOr(() => readlinkSync("/proc/self/ns/pid"))];
  return createHash("sha256").update(parts.join("\n")).digest("hex").slice(0, 12);
}

function inspectProcess(pid: number): { readonly started: string; readonly zombie: boolean } {
  const id = String(pid);
  if (process.platform === "linux") {
    // The command name stands in parentheses and may itself hold spaces and parentheses: fields start after the last one.
    const stat = readOr(() => readFileSync(`/proc/${id}/stat`, "latin1"));
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // Ticks count from boot, so the boot is part of the name.
    const boot = readOr(() => readFileSync("/proc/sys/kernel/random/boot_id", "latin1")).slice(0, 8);
    const ticks = fields[19] ?? "";
    return { started: ticks === "" ? "" : `${boot}.${ticks}`, zombie: fields[0] === "Z" || fields[0] === "X" };
  }
  if (process.platform === "win32") return { started: "", zombie: false };
  const [state = "", ...started] = readOr(() => execFileSync("ps", ["-o", "stat=,lstart=", "-p", id], { encoding: "utf8", env: { ...process.env, LC_ALL: "C" } }))
    .trim()
    .split(/\s+/);
  return { started: started.join("-").replaceAll(":", "."), zombie: state.startsWith("Z") };
}

function readOr(read: () => string): string {
  try {
    return read();
  } catch {
    return "";
  }
}
