import { createStorage } from "@marin/iris";
import { readGroups } from "../src/shuffle/groups.js";
import { scatter, type ScatterOptions } from "../src/shuffle/scatter.js";

/** What a test shuffles, and how. */
export interface Shuffled extends Pick<ScatterOptions, "key" | "sortBy" | "combiner" | "shards"> {
  /** The records of each input shard. */
  readonly inputs: readonly Iterable<unknown>[];
  readonly memoryBytes: number;
  /** Where the files go. Default: memory. */
  readonly prefix?: string;
}

/** The groups of each output shard, all in memory: what a whole shuffle gives. */
export async function shuffled({ inputs, memoryBytes, prefix = `memory://shuffle/${String(Math.random())}`, ...options }: Shuffled): Promise<{ groups: { key: unknown; items: unknown[] }[][]; runs: number }> {
  const storage = createStorage();
  const scattered = [];
  for (const [index, records] of inputs.entries()) {
    const source = async function* (): AsyncGenerator<unknown> {
      yield* records;
    };
    scattered.push(await scatter(source(), { ...options, prefix: `${prefix}/in-${String(index)}-`, memoryBytes, storage }));
  }
  const groups: { key: unknown; items: unknown[] }[][] = [];
  for (let shard = 0; shard < options.shards; shard++) {
    const own: { key: unknown; items: unknown[] }[] = [];
    for await (const { key, items } of readGroups(scattered, shard, { prefix: `${prefix}/out-${String(shard)}-`, memoryBytes, storage })) {
      const all: unknown[] = [];
      for await (const item of items) all.push(item);
      own.push({ key, items: all });
    }
    groups.push(own);
  }
  return { groups, runs: scattered.reduce((sum, { runs }) => sum + runs.length, 0) };
}
