import { IrisClient, entry, getIrisCtx, irisCtx, isMarinError } from "../src/index.js";
import type { seesOnlyItself } from "./fixtures/tasks.js";

/**
 * Runs that many jobs in a few warm processes, one after another in each; every twentieth also looks from a thread or a child process that it starts.
 *
 * @returns what any of them saw that was not its own
 */
export async function interleavedContexts(jobs: number): Promise<string[]> {
  const problems: string[] = [];
  await using client = IrisClient.local({ cpus: 4 });
  const look = entry<typeof seesOnlyItself>(new URL("./fixtures/tasks.ts", import.meta.url), "seesOnlyItself");
  let next = 0;
  const runners = Array.from({ length: 8 }, async () => {
    while (next < jobs) {
      const number = next;
      next += 1;
      const name = `job-${String(number)}`;
      const kind = number % 20 === 3 ? "thread" : number % 20 === 13 ? "process" : "alone";
      const job = await client.submit({ name, entry: look, args: [name, kind], isolation: "warm", resources: { cpu: 1 } });
      const { state, value, error } = await job.wait();
      if (state !== "SUCCEEDED") problems.push(`${name}: ${state} ${String(error)}`);
      else problems.push(...(value as string[]));
      if (getIrisCtx() !== undefined) problems.push("there is a context where no task runs");
    }
  });
  await Promise.all(runners);
  try {
    irisCtx();
    problems.push("irisCtx does not throw outside a task");
  } catch (error) {
    if (!isMarinError(error, "IRIS_NO_CONTEXT")) throw error;
  }
  return problems;
}
