import { Worker } from "node:worker_threads";

/** How often the parent is looked at. */
const lookEveryMs = 500;

/**
 * Kills this process as soon as its parent is gone, in whatever way it went. Runs in a thread of its own, because the main
 * one may be busy for minutes, in JavaScript or in native code.
 *
 * @param parentPid - who must stay the parent; an orphan gets another one
 * @param wholeGroup - whether this process leads a process group, which falls with it
 */
export function watchParent(parentPid: number, wholeGroup: boolean): void {
  // As text, because a file would need a loader where this package runs from TypeScript.
  const code = `
    const look = () => {
      if (process.ppid === ${parentPid}) return;
      ${wholeGroup ? 'try { process.kill(-process.pid, "SIGKILL"); } catch {}' : ""}
      process.kill(process.pid, "SIGKILL");
    };
    look();
    setInterval(look, ${lookEveryMs});`;
  new Worker(code, { eval: true, name: "fray watchdog", execArgv: [], env: {}, stdin: false }).unref();
}

/** Kills the process group that this process leads, and with it this process. */
export function killGroup(): void {
  process.kill(-process.pid, "SIGKILL");
}
