import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/rigging";
import { Dataset, execute, literalPath, type ParquetSchema } from "@marin/zephyr";
import type { ProcessingOptions } from "../progress.js";
import { counterNames, type GraphEdge, type Link, starSteps } from "./star-steps.js";

export type { GraphEdge, ComponentLabel } from "./star-steps.js";

/** Options of {@link connectedComponents}. */
export interface ConnectedComponentsOptions extends ProcessingOptions {
  /** Pairs of nodes that belong together; the same pair may come often, and a node with itself. */
  readonly edges: Dataset<GraphEdge>;
  /** Folder in which the labels are written, `part-00000-of-0000N.parquet` of `id` and `component`; created where needed. */
  readonly outputDir: string;
  /** Files of labels. Default 1. */
  readonly outputShards?: number | undefined;
  /** Parts that the work is divided into; the labels do not depend on it. Default 8. */
  readonly shards?: number | undefined;
  /** Most rounds. A chain of n nodes takes about log2(n) of them. Default 40. */
  readonly maxRounds?: number | undefined;
  /** Worker threads; 0: this one does the work. The labels do not depend on it. Default 0. */
  readonly workers?: number | undefined;
  /** Memory that a part of the work may take for sorting: "256MiB". Default: zephyr's. */
  readonly memoryBytes?: string | undefined;
}

/** What {@link connectedComponents} found. */
export interface ConnectedComponents {
  /** Nodes with a label: those that an edge joins to another. */
  readonly nodes: number;
  /** Different labels. */
  readonly components: number;
  readonly rounds: number;
  /** Whether every node has its component's label. Otherwise the rounds were used up: nodes of one component may have several labels, nodes of two never have one. */
  readonly converged: boolean;
}

const labelSchema: ParquetSchema = { id: "string", component: "string" };

/**
 * Labels each node of a graph with the smallest node (by code points) that it is connected with, out of memory and with workers: alternating large and small stars
 * (Kiveris and others, "Connected Components in MapReduce and Beyond", 2014). Each step looks at a node's set of neighbours alone, so labels are the same for any number of shards and
 * workers, also where the rounds do not suffice. Labels are ordered by component, then by id. A graph without edges gives files without rows.
 *
 * @throws MarinError MARIN_COMPONENT_EDGE, MARIN_COMPONENT_OPTION, and what zephyr throws
 */
export async function connectedComponents(options: ConnectedComponentsOptions): Promise<ConnectedComponents> {
  const { edges, outputDir, outputShards = 1, shards = 8, maxRounds = 40, workers = 0, memoryBytes, signal, onProgress } = options;
  for (const [name, value] of Object.entries({ outputShards, shards, maxRounds })) {
    if (!Number.isSafeInteger(value) || value < 1) throw new MarinError("MARIN_COMPONENT_OPTION", `${name} is a whole number of at least 1, found ${String(value)}.`, { data: { option: name, value } });
  }
  const running = { workers, ...(memoryBytes === undefined ? {} : { memoryBytes }), ...(signal === undefined ? {} : { signal }) };
  const scratch = join(outputDir, "rounds");
  await mkdir(outputDir, { recursive: true });
  await rm(scratch, { recursive: true, force: true });
  try {
    let links = edges.flatMap(starSteps.linksOfEdge);
    let rounds = 0;
    let changed = Infinity;
    let written = "";
    while (changed > 0 && rounds < maxRounds) {
      rounds += 1;
      const before = written;
      written = join(scratch, String(rounds));
      const sorted = { sortBy: starSteps.neighbourOf, numOutputShards: shards };
      const stars = links.groupBy(starSteps.nodeOf, starSteps.largeStar, sorted).groupBy(starSteps.nodeOf, starSteps.smallStar, sorted);
      const { counters } = await execute(stars.writeJsonl(join(literalPath(written), "links-{shard:05d}.jsonl")), { ...running, name: `components-${String(rounds)}` });
      changed = counters[counterNames.changed]?.sum ?? 0;
      links = linksIn(written).flatMap(starSteps.bothWays);
      if (before !== "") await rm(before, { recursive: true });
      onProgress?.({ done: rounds, unit: "rounds" });
    }
    const labels = linksIn(written)
      .flatMap(starSteps.labelsOfLink)
      .groupBy(starSteps.idOf, starSteps.smallestLabel, { sortBy: starSteps.componentOf, numOutputShards: shards })
      .groupBy(starSteps.componentOf, starSteps.members, { sortBy: starSteps.idOf, numOutputShards: outputShards })
      .writeParquet(join(literalPath(outputDir), "part-{shard:05d}-of-{total:05d}.parquet"), { schema: labelSchema });
    const { counters } = await execute(labels, { ...running, name: "components" });
    const count = (name: string): number => counters[name]?.sum ?? 0;
    return { nodes: count(counterNames.nodes), components: count(counterNames.components), rounds, converged: changed === 0 };
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}

function linksIn(folder: string): Dataset<Link> {
  return Dataset.fromFiles<Link>(join(literalPath(folder), "*.jsonl"));
}
