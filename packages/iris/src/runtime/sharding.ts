import { defineExtension, type ExtensionKey } from "./extensions.js";

/** Where one task stands in a job that spans several slices (groups of machines with a fast network between them). */
export interface SliceTopology {
  /** The task's slice, from 0 up. */
  readonly sliceId: number;
  /** Slices in the job, at least 1. */
  readonly sliceCount: number;
  /** Tasks in each slice, at least 1. */
  readonly tasksPerSlice: number;
}

/** Knows how the tasks of a job are spread over slices. */
export interface ShardingProvider {
  /** For logs: which provider was chosen. */
  readonly name: string;
  /**
   * @param taskIndex - the task, from 0 up
   * @param numTasks - tasks in the job
   */
  topology(taskIndex: number, numTasks: number): Promise<SliceTopology>;
}

/** Ask the context for this to learn the job's topology; where nobody provides it there is one slice. */
export const shardingExtension: ExtensionKey<ShardingProvider> = defineExtension<ShardingProvider>("iris.sharding");
