import { irisCtx } from "@marin/iris";
import { counted } from "../context.js";
import { registerWorker } from "../presence.js";
import { runShardTask, type ShardOutcome, type ShardTask } from "./shard-task.js";

/** Works on a shard, in a worker's context. */
export async function runShard(task: ShardTask): Promise<ShardOutcome> {
  const { storage, signal } = irisCtx();
  await registerWorker(task.run, task.name);
  const { value, counters } = await counted(() => runShardTask(task, { storage, signal }));
  const { stage, shard, attempt } = task;
  return { stage, shard, attempt, output: value, counters };
}
