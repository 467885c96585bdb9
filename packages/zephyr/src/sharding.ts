import { irisCtx, MarinError, shardingExtension } from "@marin/iris";

/** Which share of a job's items a task takes. */
export interface TaskShare {
  /** Who said how the job's tasks are spread: the provider's name, or "one slice". */
  readonly provider: string;
  /** The task's slice, from 0 up. */
  readonly sliceId: number;
  /** Slices in the job. */
  readonly sliceCount: number;
  /** The task among those of its slice, from 0 up. */
  readonly indexInSlice: number;
  /** Tasks in each slice. */
  readonly tasksPerSlice: number;
}

/**
 * The share of the running task. When the context offers the sharding extension, its provider says which slice the task
 * belongs to (the tasks of a slice have consecutive numbers); otherwise all tasks are one slice. The task's log tells which.
 *
 * @throws MarinError IRIS_NO_CONTEXT outside a task; ZEPHYR_BAD_TOPOLOGY when the provider's slices do not make up the job
 */
export async function taskShare(): Promise<TaskShare> {
  const context = irisCtx();
  const { taskIndex, numTasks, log } = context;
  const provider = context.extension(shardingExtension);
  const { sliceId, sliceCount, tasksPerSlice } = (await provider?.topology(taskIndex, numTasks)) ?? { sliceId: 0, sliceCount: 1, tasksPerSlice: numTasks };
  const name = provider?.name ?? "one slice";
  const whole = [sliceId, sliceCount, tasksPerSlice].every((number) => Number.isSafeInteger(number) && number >= 0);
  if (!whole || sliceCount * tasksPerSlice !== numTasks || sliceId !== Math.floor(taskIndex / tasksPerSlice)) {
    throw new MarinError(
      "ZEPHYR_BAD_TOPOLOGY",
      `The sharding provider "${name}" puts task ${String(taskIndex)} of ${String(numTasks)} into slice ${String(sliceId)} of ${String(sliceCount)} slices with ${String(tasksPerSlice)} tasks each: ` +
        "slices have equal numbers of consecutive tasks, and together they are all tasks of the job.",
      { data: { provider: name, taskIndex, numTasks, sliceId, sliceCount, tasksPerSlice } },
    );
  }
  log.info("sharding", { provider: name, slice: `${String(sliceId)} of ${String(sliceCount)}`, tasksPerSlice });
  return { provider: name, sliceId, sliceCount, indexInSlice: taskIndex % tasksPerSlice, tasksPerSlice };
}

/**
 * The items that a task takes, in their order: they are dealt to the slices in turn, and in each slice to its tasks in
 * turn. Every item belongs to exactly one task, and no task has more than one item more than another of its slice.
 */
export function itemsOfTask<T>(items: readonly T[], share: TaskShare): T[] {
  const { sliceId, sliceCount, indexInSlice, tasksPerSlice } = share;
  return items.filter((_item, index) => index % sliceCount === sliceId && Math.floor(index / sliceCount) % tasksPerSlice === indexInSlice);
}
