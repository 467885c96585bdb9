import { MarinError } from "@marin/iris";
import { splitRecords } from "../shuffle/record-file.js";
import type { ScatteredShard } from "../shuffle/scatter.js";
import type { WrittenFile } from "../writers/write-spec.js";
import type { EarlierStages, ReadyInput } from "./shard-input.js";
import type { ShardOutcome } from "./shard-task.js";

/** What the shards of a stage have given, in their order. */
export interface StageResult {
  readonly outcomes: readonly ShardOutcome[];
  /** Of a stage that writes: the files as they are when all are written. */
  readonly written: readonly WrittenFile[] | undefined;
}

/** What stages hand over to later ones. */
export class HandOver implements EarlierStages {
  readonly #resultOf: (stage: number) => Promise<StageResult>;

  /** @param resultOf - what a stage has given, once it has ended */
  constructor(resultOf: (stage: number) => Promise<StageResult>) {
    this.#resultOf = resultOf;
  }

  async records(stage: number, start: number, end: number): Promise<ReadyInput> {
    const { outcomes, written } = await this.#resultOf(stage);
    if (written !== undefined) return { kind: "items", items: written.slice(start, end) };
    return { kind: "records", ranges: outcomes.slice(start, end).map((outcome) => ({ path: recordFile(outcome).path })) };
  }

  async share(stage: number, shard: number, shards: number): Promise<ReadyInput> {
    const { outcomes, written } = await this.#resultOf(stage);
    if (written === undefined) return { kind: "records", ranges: splitRecords(outcomes.map(recordFile), shards)[shard] ?? [] };
    const border = (index: number): number => Math.floor((index * written.length) / shards);
    return { kind: "items", items: written.slice(border(shard), border(shard + 1)) };
  }

  async scattered(stage: number): Promise<readonly ScatteredShard[]> {
    const { outcomes } = await this.#resultOf(stage);
    return outcomes.map(({ output }) => {
      if (output.kind !== "scatter") throw wrongOutput(output.kind, "scatter");
      return output.scattered;
    });
  }
}

function recordFile({ output }: ShardOutcome): { readonly path: string; readonly records: number } {
  if (output.kind !== "records") throw wrongOutput(output.kind, "records");
  return output.file;
}

function wrongOutput(found: string, expected: string): MarinError {
  return new MarinError("ZEPHYR_PLAN_CHANGED", `A stage of this plan gives ${expected}, and what its scratch directory holds is ${found}: remove the scratch directory.`, { data: { found, expected } });
}
