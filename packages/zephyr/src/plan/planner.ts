import { MarinError } from "@marin/iris";
import { pushdown } from "../expr/pushdown.js";
import type { SourceFile } from "../readers/format.js";
import { outputPaths } from "../writers/output-paths.js";
import { describeOp } from "./describe.js";
import type { AnyDataset, CrossShardOp, Op, ShardOp } from "./ops.js";
import type { Source } from "./source.js";
import type { Plan, ShardInput, ShardPlan, Stage, StageOp, StageOutput } from "./stage.js";

/** Files of the sources, by source. */
export type ResolvedFiles = ReadonlyMap<Source, readonly SourceFile[]>;

/**
 * The stages of a dataset. Pure: the files of its sources have been looked up before.
 *
 * @throws MarinError ZEPHYR_UNEQUAL_SHARDS, ZEPHYR_BAD_PATTERN, ZEPHYR_NO_COLUMN
 */
export function planStages(dataset: AnyDataset, files: ResolvedFiles): Plan {
  const planner = new Planner(files);
  const last = planner.lower(dataset);
  // Written files, and nothing done with them, are the results themselves.
  if (!planner.isLastStage(last)) planner.close(last, { kind: "records" });
  return { stages: planner.stages };
}

/** All sources of a dataset, those of datasets inside it included. */
export function sourcesOf(dataset: AnyDataset): Source[] {
  const inner = dataset.ops.flatMap((op) => (op.kind === "union" ? op.others : op.kind === "sortedMergeJoin" ? [op.right] : []));
  return [dataset.source, ...inner.flatMap(sourcesOf)];
}

/** Shards whose stage has not ended yet. */
type Open = readonly ShardPlan[];

class Planner {
  readonly stages: Stage[] = [];
  readonly #files: ResolvedFiles;

  constructor(files: ResolvedFiles) {
    this.#files = files;
  }

  lower(dataset: AnyDataset): Open {
    return dataset.ops.reduce((open, op) => this.#apply(open, op), this.#source(dataset));
  }

  /** Whether the shards only pass on what the last stage, one that writes, has given. */
  isLastStage(open: Open): boolean {
    const last = this.stages.at(-1);
    if (last?.output.kind !== "write" || open.length !== last.shards.length) return false;
    return open.every(({ input, ops }, shard) => ops.length === 0 && input.kind === "stage" && input.stage === last.index && input.start === shard && input.end === shard + 1);
  }

  /** Ends a stage. */
  close(shards: Open, output: StageOutput): Stage {
    const stage = { index: this.stages.length, name: nameOf(shards, output), shards, output };
    this.stages.push(stage);
    return stage;
  }

  #source({ source, ops }: AnyDataset): Open {
    switch (source.kind) {
      case "items": {
        const { items, shards } = source;
        const border = (shard: number): number => Math.floor((shard * items.length) / shards);
        return begin(shards, (shard) => ({ kind: "items", items: shards === 1 ? items : items.slice(border(shard), border(shard + 1)) }));
      }
      case "iterable":
        return begin(1, () => ({ kind: "iterable", iterate: source.iterate }));
      case "files": {
        const { format, pathColumn, onBadRecord, settings, schema, emptyOk } = source.options;
        const isOwn = (column: string): boolean => column === pathColumn;
        const columns = source.options.columns?.filter((column) => !isOwn(column));
        // The columns asked for are the first select.
        const asked = columns === undefined ? [] : [{ kind: "select" as const, columns: [...columns, ...(pathColumn === undefined ? [] : [pathColumn])] }];
        const pushed = pushdown([...asked, ...ops]);
        const named = pushed.named?.filter((column) => !isOwn(column));
        if (schema !== undefined) requireInSchema(Object.keys(schema), named ?? []);
        // A schema is a contract for every record: what does not fit is told, or passed over, whoever looks at it.
        const needed = schema === undefined ? pushed.columns?.filter((column) => !isOwn(column)) : undefined;
        const hints = { ...(needed === undefined ? {} : { needed }), ...(named === undefined ? {} : { named }), ...(emptyOk === undefined ? {} : { emptyOk }) };
        const read = { format, pathColumn, onBadRecord, settings, schema, columns, filter: pushed.filter, ...hints };
        const files = this.#files.get(source) ?? [];
        return begin(files.length, (shard) => ({ kind: "file", file: files[shard] as SourceFile, read }));
      }
    }
  }

  #apply(open: Open, op: Op): Open {
    switch (op.kind) {
      case "take": {
        const limit: ShardOp = { kind: "takePerShard", count: op.count };
        const limited = withOp(open, limit);
        return open.length === 1 ? limited : withOp(this.#gather(limited, op.count), limit);
      }
      case "reshard": {
        const { index } = this.close(open, { kind: "records" });
        return begin(op.shards, (shard) => ({ kind: "share", stage: index, shard, shards: op.shards }));
      }
      case "union":
        return renumbered([open, ...op.others.map((other) => this.lower(other))].flat());
      case "groupBy":
      case "deduplicate": {
        const { group, numOutputShards = open.length } = op;
        const { index } = this.close(open, { kind: "scatter", group, shards: numOutputShards });
        return begin(numOutputShards, (shard) => ({ kind: "groups", stage: index, shard, group }));
      }
      case "reduce":
      case "count":
        return withOp(this.#gather(withOp(open, { kind: "fold", work: op.local })), { kind: "fold", work: op.global });
      case "sortedMergeJoin":
        return this.#join(open, op);
      case "write": {
        const paths = outputPaths(op.write.pattern, open.map(outputShard));
        const { index } = this.close(open, { kind: "write", write: op.write, paths });
        return begin(open.length, (shard) => ({ kind: "stage", stage: index, start: shard, end: shard + 1 }));
      }
      default:
        return withOp(open, op);
    }
  }

  /** All records in one shard; with `enough` no more than the first shards that have so many. */
  #gather(open: Open, enough?: number): Open {
    const { index } = this.close(open, enough === undefined ? { kind: "records" } : { kind: "records", enough });
    return begin(1, () => ({ kind: "stage", stage: index, start: 0, end: open.length }));
  }

  #join(left: Open, op: Extract<CrossShardOp, { kind: "sortedMergeJoin" }>): Open {
    const right = this.lower(op.right);
    if (left.length !== right.length) {
      throw new MarinError(
        "ZEPHYR_UNEQUAL_SHARDS",
        `sortedMergeJoin joins shard with shard and needs equal numbers of them, found ${String(left.length)} on the left and ${String(right.length)} on the right: ` +
          "group both by the key of the join with the same numOutputShards.",
        { data: { left: left.length, right: right.length } },
      );
    }
    return begin(left.length, (shard) => ({ kind: "join", left: left[shard] as ShardPlan, right: right[shard] as ShardPlan, join: op.join }));
  }
}

/** @throws MarinError ZEPHYR_NO_COLUMN */
function requireInSchema(known: readonly string[], looked: readonly string[]): void {
  const missing = looked.find((column) => !known.includes(column));
  if (missing !== undefined) throw new MarinError("ZEPHYR_NO_COLUMN", `A filter or select() names the column "${missing}", which the schema of its files does not have: its columns are ${known.join(", ")}.`, { data: { column: missing, columns: known } });
}

function begin(shards: number, inputOf: (shard: number) => ShardInput): Open {
  const ops: readonly StageOp[] = [];
  return Array.from({ length: shards }, (_, shard) => ({ input: inputOf(shard), ops, numbers: [{ from: 0, shard, shards }] }));
}

/** Shards that shared their operations go on sharing them. */
function withOp(open: Open, op: StageOp): Open {
  const known = new Map<readonly StageOp[], readonly StageOp[]>();
  return open.map(({ ops, ...shard }) => {
    const extended = known.get(ops) ?? [...ops, op];
    known.set(ops, extended);
    return { ...shard, ops: extended };
  });
}

function renumbered(open: Open): Open {
  return open.map(({ numbers, ...shard }, index) => ({ ...shard, numbers: [...numbers, { from: shard.ops.length, shard: index, shards: open.length }] }));
}

/** What a pattern of output names may use. */
function outputShard(plan: ShardPlan): { readonly input?: string } {
  const path = inputPath(plan);
  return path === undefined ? {} : { input: path };
}

/** The file that a shard is made of. */
export function inputPath({ input }: ShardPlan): string | undefined {
  if (input.kind === "file") return input.file.path;
  return input.kind === "join" ? inputPath(input.left) : undefined;
}

function nameOf(shards: Open, output: StageOutput): string {
  const first = shards[0];
  const before = first === undefined ? [] : first.ops.map(describeOp);
  const end = output.kind === "records" ? [] : [output.kind === "write" ? `write ${output.write.format}` : "scatter"];
  const [begins = "read"] = first === undefined ? [] : [{ items: "items", iterable: "iterable", file: "read", stage: "gather", groups: "group", share: "reshard", join: "join" }[first.input.kind]];
  return [begins, ...before, ...end].join(" | ");
}
