import type { GroupSpec } from "../plan/ops.js";
import type { Plan, ShardPlan, StageOp } from "../plan/stage.js";
import { type AnyWork, inlineFunction, isNamed } from "../plan/work.js";
import { localSource } from "./shard-input.js";

/**
 * Checks that workers can do what a plan asks for.
 *
 * @throws MarinError ZEPHYR_INLINE_FUNCTION, showing the named form; ZEPHYR_LOCAL_SOURCE
 */
export function requireNamed({ stages }: Plan, workers: number): void {
  const check = (operation: string, work: AnyWork | "first" | undefined): void => {
    if (work !== undefined && work !== "first" && !isNamed(work)) throw inlineFunction(work, operation, workers);
  };
  const checkGroup = ({ key, reducer, sortBy, combiner }: GroupSpec): void => {
    check("groupBy (its key)", key);
    check("groupBy (its reducer)", reducer);
    check("groupBy (sortBy)", sortBy);
    check("groupBy (combiner)", combiner);
  };
  // Shards share their operations.
  const seen = new Set<readonly StageOp[]>();
  const checkShard = ({ input, ops }: ShardPlan): void => {
    if (input.kind === "iterable") throw localSource(workers);
    if (input.kind === "groups") checkGroup(input.group);
    if (input.kind === "join") {
      const { left, right, join } = input;
      checkShard(left);
      checkShard(right);
      check("sortedMergeJoin (leftKey)", join.leftKey);
      check("sortedMergeJoin (rightKey)", join.rightKey);
      check("sortedMergeJoin (combiner)", join.combiner);
    }
    if (seen.has(ops)) return;
    seen.add(ops);
    for (const op of ops) {
      if ("work" in op) check(op.kind === "fold" ? "reduce" : op.kind, op.work);
      else if (op.kind === "window") check("window", op.fold);
    }
  };
  for (const { shards, output } of stages) {
    shards.forEach(checkShard);
    if (output.kind === "scatter") checkGroup(output.group);
    if (output.kind === "write" && output.write.format === "tokens") check("writeTokenCache (its writer)", output.write.writer);
  }
}
