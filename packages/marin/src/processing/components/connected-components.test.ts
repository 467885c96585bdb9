import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectedComponents as inMemory } from "@marin/dupekit";
import { Dataset, ParquetReader } from "@marin/zephyr";
import fc from "fast-check";
import { afterEach, beforeEach, expect, test } from "vitest";
import { connectedComponents, type ConnectedComponents, type ConnectedComponentsOptions, type GraphEdge, type ComponentLabel } from "./connected-components.js";

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-components-"));
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

const id = (node: number): string => `n${String(node).padStart(6, "0")}`;

async function run(pairs: readonly (readonly [number, number])[], options: Partial<ConnectedComponentsOptions> = {}, inputShards = 1): Promise<ConnectedComponents & { readonly labels: readonly ComponentLabel[]; readonly bytes: string }> {
  const edges = pairs.map(([a, b]): GraphEdge => ({ a: id(a), b: id(b) }));
  const outputDir = options.outputDir ?? join(root, "out");
  const found = await connectedComponents({ edges: Dataset.fromArray(edges, { shards: inputShards }), outputDir, shards: 1, ...options });
  const names = await readdir(outputDir);
  const labels: ComponentLabel[] = [];
  for (const name of names) for await (const row of new ParquetReader<ComponentLabel>({ path: join(outputDir, name) })) labels.push(row);
  return { ...found, labels, bytes: (await Promise.all(names.map((name) => readFile(join(outputDir, name), "base64")))).join("\n") };
}

/** What union-find says, for nodes that an edge joins to another. */
function expected(pairs: readonly (readonly [number, number])[]): ComponentLabel[] {
  const count = Math.max(-1, ...pairs.flat()) + 1;
  const label = inMemory(count, pairs);
  const joined = new Set(pairs.filter(([a, b]) => a !== b).flat());
  return [...joined].map((node) => ({ id: id(node), component: id(label[node] ?? 0) })).sort((a, b) => (a.component + a.id < b.component + b.id ? -1 : 1));
}

test("Connected components: random graphs have the labels of union-find", async () => {
  const edge = fc.tuple(fc.nat(12), fc.nat(12));
  await fc.assert(
    fc.asyncProperty(fc.array(edge, { maxLength: 14 }), async (pairs) => {
      const { labels, converged, nodes, components } = await run(pairs, { outputShards: 1, shards: 2 });
      expect(converged).toBe(true);
      expect(labels).toEqual(expected(pairs));
      expect({ nodes, components }).toEqual({ nodes: labels.length, components: new Set(labels.map(({ component }) => component)).size });
    }),
    { numRuns: 8 },
  );
});

test("Connected components: a chain, a star, cliques and copies of edges give the same files for 1, 2 and 8 shards, when capped too", async () => {
  const chain = Array.from({ length: 24 }, (_, node) => [node, node + 1] as const);
  const star = Array.from({ length: 12 }, (_, node) => [199, 100 + node] as const);
  const clique = Array.from({ length: 6 }, (_, node) => Array.from({ length: node }, (_, other) => [300 + node, 300 + other] as const)).flat();
  const pairs = [...chain, ...star, ...clique, ...clique.map(([a, b]) => [b, a] as const), [500, 500] as const].sort(([a, b], [c, d]) => ((a * 31 + b * 17) % 23) - ((c * 31 + d * 17) % 23));
  for (const maxRounds of [2, 40]) {
    const results = [];
    for (const shards of [1, 2, 8]) results.push(await run(pairs, { shards, maxRounds, outputDir: join(root, `${String(maxRounds)}-${String(shards)}`) }, shards));
    for (const result of results) expect(result).toEqual(results[0]);
    expect(results[0]?.converged).toBe(maxRounds === 40);
    if (maxRounds === 40) expect(results[0]?.labels).toEqual(expected(pairs));
    else {
      // Never more than belongs together.
      const componentOf = new Map(expected(pairs).map(({ id: node, component }) => [node, component]));
      for (const { id: node, component } of results[0]?.labels ?? []) expect(componentOf.get(component)).toBe(componentOf.get(node));
    }
  }
});

test("Connected components: a graph without edges gives a valid file without rows", async () => {
  expect(await run([])).toMatchObject({ nodes: 0, components: 0, rounds: 1, converged: true, labels: [] });
  expect(await readdir(join(root, "out"))).toEqual(["part-00000-of-00001.parquet"]);
});

test("an edge without two ids is refused", async () => {
  const edges = Dataset.fromArray([{ a: "x", b: "y" }, { a: "x" } as GraphEdge]);
  await expect(connectedComponents({ edges, outputDir: join(root, "out") })).rejects.toMatchObject({ code: "ZEPHYR_SHARD_FAILED", cause: { code: "MARIN_COMPONENT_EDGE" } });
  await expect(connectedComponents({ edges, outputDir: join(root, "out"), shards: 0 })).rejects.toMatchObject({ code: "MARIN_COMPONENT_OPTION" });
});
