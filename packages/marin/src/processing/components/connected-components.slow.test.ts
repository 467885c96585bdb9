import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { connectedComponents as inMemory } from "@marin/dupekit";
import { Dataset, ParquetReader } from "@marin/zephyr";
import { expect, test } from "vitest";
import { connectedComponents, type GraphEdge, type ComponentLabel } from "./connected-components.js";

test("Connected components: a chain of 100,000, a star of 100,000 and 1,000 cliques have union-find's labels, the same bytes for 1 and 8 shards", async () => {
  const root = await mkdtemp(join(tmpdir(), "marin-components-"));
  try {
    const size = 100_000;
    // Every node's number is where a shuffle of the numbers puts it: the chain does not ascend.
    const place = (node: number): number => (node * 7919) % size;
    const pairs: (readonly [number, number])[] = [];
    for (let node = 1; node < size; node += 1) pairs.push([place(node - 1), place(node)], [2 * size - 1, size + node - 1]);
    // A thousand apart: members of a clique are no neighbours by number.
    for (let node = 0; node < 6000; node += 1) for (let other = node % 1000; other < node; other += 1000) pairs.push([2 * size + node, 2 * size + other]);
    const label = inMemory(2 * size + 6000, pairs);
    const id = (node: number): string => String(node).padStart(6, "0");
    const edges = pairs.map(([a, b]): GraphEdge => ({ a: id(a), b: id(b) }));
    const digests: string[] = [];
    for (const [shards, workers] of [[8, 2], [1, 0]] as const) {
      const outputDir = join(root, String(shards));
      const found = await connectedComponents({ edges: Dataset.fromArray(edges, { shards }), outputDir, shards, workers });
      expect(found).toMatchObject({ nodes: 2 * size + 6000, components: 1002, converged: true });
      const path = join(outputDir, "part-00000-of-00001.parquet");
      digests.push(await readFile(path, "base64"));
      if (shards === 8) for await (const { id: node, component } of new ParquetReader<ComponentLabel>({ path })) if (component !== id(label[Number(node)] ?? -1)) expect.fail(`${node} has the label ${component}`);
    }
    expect(digests[1] === digests[0]).toBe(true);
  } finally {
    await rm(root, { recursive: true });
  }
});
