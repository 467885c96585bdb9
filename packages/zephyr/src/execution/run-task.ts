import { entry, MarinError, openWorkerPool, type TaskPool } from "@marin/iris";
import { counted } from "../context.js";
import type { Settings } from "./options.js";
import type { runShard } from "./shard-main.js";
import { runShardTask, type ShardOutcome } from "./shard-task.js";
import type { RunTask } from "./stage-run.js";

const shardMain = new URL(import.meta.url.endsWith(".ts") ? "./shard-main.ts" : "./shard-main.js", import.meta.url);

/** Works on tasks in this process. */
export function inProcess({ storage }: Settings): RunTask {
  return async (task, signal) => {
    const { value, counters } = await counted(() => runShardTask(task, { storage, signal }));
    const { stage, shard, attempt } = task;
    return { stage, shard, attempt, output: value, counters };
  };
}

/** Works on tasks in workers, which start with the first one. */
export class WorkerTasks implements AsyncDisposable {
  readonly #settings: Settings;
  readonly #workers: number;
  #pool: Promise<TaskPool> | undefined;

  /** @param mostShards - of all stages: more workers would have nothing to do */
  constructor(settings: Settings, mostShards: number) {
    this.#settings = settings;
    this.#workers = Math.max(1, Math.min(settings.workers, mostShards));
  }

  readonly run: RunTask = async (task, signal) => {
    const pool = await this.#open();
    const work = entry<typeof runShard>(shardMain, "runShard");
    for await (const outcome of pool.map(work, [task], { signal })) return outcome satisfies ShardOutcome;
    throw new MarinError("ZEPHYR_WORKER_LOST", `Shard ${String(task.shard)} of stage ${String(task.stage)} has no outcome.`, { data: { stage: task.stage, shard: task.shard } });
  };

  /** A pool that does not start, because one of its workers dies, is started anew for the next attempt. */
  #open(): Promise<TaskPool> {
    const { name, isolation } = this.#settings;
    this.#pool ??= openWorkerPool({ workers: this.#workers, name, kind: isolation }).catch((error: unknown) => {
      this.#pool = undefined;
      throw error;
    });
    return this.#pool;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const pool = await this.#pool?.catch(() => undefined);
    await pool?.close();
  }
}
