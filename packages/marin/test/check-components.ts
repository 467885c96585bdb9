import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectedComponents as inMemory } from "@marin/dupekit";
import { Dataset, ParquetReader } from "@marin/zephyr";
import { expect } from "vitest";
import { connectedComponents, type ComponentLabel, type GraphEdge } from "../src/processing/components/connected-components.js";

/** A chain and a star of so many nodes each, and cliques of six: the distributed labels are those of union-find, the same bytes for each number of shards and workers. */
export async function checkComponents({ size, cliques, runs }: { readonly size: number; readonly cliques: number; readonly runs: readonly (readonly [shards: number, workers: number])[] }): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), "marin-components-"));
  try {
    // The chain does not ascend; members of a clique are no neighbours by number.
    const place = (node: number): number => (node * 7919) % size;
    const pairs: (readonly [number, number])[] = [];
    for (let node = 1; node < size; node += 1) pairs.push([place(node - 1), place(node)], [2 * size - 1, size + node - 1]);
    for (let node = 0; node < 6 * cliques; node += 1) for (let other = node % cliques; other < node; other += cliques) pairs.push([2 * size + node, 2 * size + other]);
    const nodes = 2 * size + 6 * cliques;
    const label = inMemory(nodes, pairs);
    const id = (node: number): string => String(node).padStart(6, "0");
    const edges = pairs.map(([a, b]): GraphEdge => ({ a: id(a), b: id(b) }));
    const files: string[] = [];
    for (const [shards, workers] of runs) {
      const outputDir = join(root, String(shards));
      expect(await connectedComponents({ edges: Dataset.fromArray(edges, { shards }), outputDir, shards, workers })).toMatchObject({ nodes, components: 2 + cliques, converged: true });
      const path = join(outputDir, "part-00000-of-00001.parquet");
      files.push(await readFile(path, "base64"));
      if (files.length > 1) expect(files.at(-1) === files[0]).toBe(true);
      else for await (const { id: node, component } of new ParquetReader<ComponentLabel>({ path })) if (component !== id(label[Number(node)] ?? -1)) expect.fail(`${node} has the label ${component}`);
    }
  } finally {
    await rm(root, { recursive: true });
  }
}
