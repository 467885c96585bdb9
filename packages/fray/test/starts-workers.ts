import { WorkerPool } from "../src/index.js";

export function twice(x: number): number {
  return 2 * x;
}

/** At the top level: so in every worker that imports this. */
export const pool = await WorkerPool.start({ size: 1, kind: "thread", name: "again", onStdout: () => undefined, onStderr: () => undefined });
