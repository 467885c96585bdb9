import { formatBytes } from "@marin/iris";
import { formatExpr } from "../expr/format.js";
import type { Plan, ShardPlan, Stage, StageOp } from "./stage.js";
import { type AnyWork, describeWork } from "./work.js";

/** Shards listed one by one where they differ; more are counted. */
const shownKinds = 8;

/** An operation in a few words. */
export function describeOp(op: StageOp): string {
  switch (op.kind) {
    case "filter":
      return "expr" in op ? `filter ${formatExpr(op.expr)}` : `filter ${describeWork(op.work)}`;
    case "select":
      return `select ${op.columns.join(", ")}`;
    case "batch":
      return `batch ${String(op.size)}`;
    case "window":
      return `window ${describeWork(op.fold)}`;
    case "takePerShard":
      return `take ${String(op.count)}`;
    case "sample":
      return `sample ${String(op.fraction)} (seed ${String(op.seed)})`;
    default:
      return `${op.kind} ${describeWork(op.work)}`;
  }
}

/**
 * A plan as text: a line for each stage, and in it for each kind of its shards, with what they read, do and give. The same plan gives
 * the same text.
 */
export function explain({ stages }: Plan): string {
  return `${stages.map(explainStage).join("\n")}\n`;
}

function explainStage(stage: Stage): string {
  const { index, shards, output } = stage;
  const kinds = new Map<string, ShardPlan[]>();
  for (const shard of shards) {
    const kind = describeChain(shard);
    kinds.set(kind, [...(kinds.get(kind) ?? []), shard]);
  }
  const lines = [...kinds].slice(0, shownKinds).map(([kind, of]) => `  ${counted(of.length, "shard")}: ${kind.replace("{input}", describeInputs(of))}`);
  const more = kinds.size > shownKinds ? [`  and ${String(kinds.size - shownKinds)} other kinds of shards`] : [];
  return [`stage ${String(index)}: ${counted(shards.length, "shard")}${describeOutput(output)}`, ...lines, ...more].join("\n");
}

function describeOutput(output: Stage["output"]): string {
  switch (output.kind) {
    case "records":
      return output.enough === undefined ? "" : `, until the first have ${counted(output.enough, "record")}`;
    case "write":
      return `, writes ${output.write.format} to ${output.write.pattern}${output.write.skipExisting ? ", skipping what is there" : ""}`;
    case "scatter": {
      const { key, sortBy, combiner } = output.group;
      const extra = [sortBy === undefined ? "" : `, sorted by ${describeWork(sortBy)}`, combiner === undefined ? "" : `, combined by ${nameOf(combiner)}`].join("");
      return `, scatters by ${describeWork(key)} to ${counted(output.shards, "shard")}${extra}`;
    }
  }
}

/** What is read, with a place for how much, and what is done with it. */
function describeChain({ input, ops }: ShardPlan): string {
  const reads = {
    items: () => "items",
    iterable: () => "iterable",
    file: () => "read {input}",
    stage: () => (input.kind === "stage" ? `from stage ${String(input.stage)}` : ""),
    share: () => (input.kind === "share" ? `even share of stage ${String(input.stage)}` : ""),
    groups: () => (input.kind === "groups" ? `groups of stage ${String(input.stage)} | reduce ${nameOf(input.group.reducer)}` : ""),
    join: () => (input.kind === "join" ? `${input.join.how} join of (${describeChain(input.left)}) and (${describeChain(input.right)})` : ""),
  }[input.kind]();
  const read = input.kind === "file" ? (input.read.needed ?? input.read.columns) : undefined;
  const columns = read === undefined ? [] : [`columns ${read.join(", ")}`];
  const pruned = input.kind === "file" && input.read.filter !== undefined ? [`pruned by ${formatExpr(input.read.filter)}`] : [];
  const notes = [...columns, ...pruned];
  return [notes.length === 0 ? reads : `${reads} (${notes.join(", ")})`, ...ops.map(describeOp)].join(" | ");
}

function describeInputs(shards: readonly ShardPlan[]): string {
  const files = shards.flatMap(({ input }) => (input.kind === "file" ? [input.file] : []));
  const [first] = files;
  if (first === undefined) return "";
  const bytes = files.reduce((sum, { bytes: size, part }) => sum + (part === undefined ? size : 0), 0);
  const formats = [...new Set(files.map(({ format }) => format))].sort().join(", ");
  const paths = [...new Set(files.map(({ path }) => path))];
  const where = paths.length === 1 ? first.path : `${first.path} to ${paths.at(-1) ?? ""}`;
  const parts = files.length === paths.length ? "" : ` in ${String(files.length)} parts`;
  return `${formats} ${where} (${counted(paths.length, "file")}${parts}${bytes === 0 ? "" : `, ${formatBytes(bytes)}`})`;
}

function nameOf(work: AnyWork | "first"): string {
  return work === "first" ? "first" : describeWork(work);
}

function counted(count: number, what: string): string {
  return `${String(count)} ${what}${count === 1 ? "" : "s"}`;
}
