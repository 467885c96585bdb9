import { MarinError, type IrisContext, type ShardingProvider, type SliceTopology } from "@marin/iris";

/** The variable that says over how many slices a job's tasks are spread, set by whoever submits the job (`env` of its spec). Not set: one slice. */
const SLICES_VARIABLE = "MEGASCALE_NUM_SLICES";

/** Names a task's own slice, where the machines know it. Not set: it follows from the task's index. */
const SLICE_VARIABLE = "MEGASCALE_SLICE_ID";

/**
 * The sharding of a job that spans several slices (groups of machines with a fast network among them), read from the task's environment:
 * `MEGASCALE_NUM_SLICES` slices of equally many tasks, tasks in the order of their slices. Hand it to contexts under iris's `shardingExtension`.
 *
 * @param context - the task; its index and number of tasks must fit the slices
 * @param environment - default: the process's
 * @returns a provider that answers for any number of tasks that the slices divide; its `topology` rejects with LEVANTER_MEGASCALE otherwise
 * @throws MarinError LEVANTER_MEGASCALE when a variable is no number in its range, the job's tasks don't divide into the slices, or the task's own slice is another
 * than its index says
 */
export function configureMegascaleFromIris(
  { taskIndex, numTasks }: Pick<IrisContext, "taskIndex" | "numTasks">, environment: Readonly<Record<string, string | undefined>> = process.env,
): ShardingProvider {
  const slices = wholeNumber(environment, SLICES_VARIABLE, 1) ?? 1;
  const { sliceId } = topology(slices, taskIndex, numTasks);
  const own = wholeNumber(environment, SLICE_VARIABLE, 0);
  if (own !== undefined && own !== sliceId) {
    throw megascaleError(
      `${SLICE_VARIABLE} is ${String(own)}, but task ${String(taskIndex)} of ${String(numTasks)} in ${String(slices)} slices belongs to slice ${String(sliceId)}: start the tasks in the order of their slices`,
      { variable: SLICE_VARIABLE, sliceId: own, expected: sliceId, taskIndex, numTasks, slices },
    );
  }
  return {
    name: `megascale (${String(slices)} ${slices === 1 ? "slice" : "slices"})`,
    topology: (task, tasks) => Promise.resolve().then(() => topology(slices, task, tasks)),
  };
}

function topology(slices: number, taskIndex: number, numTasks: number): SliceTopology {
  const data = { taskIndex, numTasks, slices };
  if (!Number.isSafeInteger(numTasks) || numTasks < 1 || numTasks % slices !== 0) {
    throw megascaleError(`${String(numTasks)} tasks don't divide into ${String(slices)} slices: set ${SLICES_VARIABLE} to a divisor of the job's tasks`, data);
  }
  if (!Number.isSafeInteger(taskIndex) || taskIndex < 0 || taskIndex >= numTasks) {
    throw megascaleError(`there is no task ${String(taskIndex)} of ${String(numTasks)}: tasks count from 0`, data);
  }
  const tasksPerSlice = numTasks / slices;
  return { sliceId: Math.floor(taskIndex / tasksPerSlice), sliceCount: slices, tasksPerSlice };
}

function wholeNumber(environment: Readonly<Record<string, string | undefined>>, variable: string, least: number): number | undefined {
  const text = environment[variable];
  if (text === undefined) return undefined;
  const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
  if (value >= least) return value;
  throw megascaleError(`${variable} is ${JSON.stringify(text)}; it must be a whole number from ${String(least)}`, { variable, value: text });
}

function megascaleError(message: string, data: Record<string, unknown>): MarinError {
  return new MarinError("LEVANTER_MEGASCALE", message, { data });
}
