import fc from "fast-check";
import { expect, test } from "vitest";
import { connectedComponents } from "./connected-components.js";

/** The plain definition: whatever can be reached, by breadth-first search. */
function reached(count: number, edges: readonly (readonly [number, number])[]): number[] {
  const neighbours = Array.from({ length: count }, (): number[] => []);
  for (const [a, b] of edges) {
    neighbours[a]?.push(b);
    neighbours[b]?.push(a);
  }
  const labels = new Array<number>(count).fill(-1);
  for (let start = 0; start < count; start += 1) {
    if (labels[start] !== -1) continue;
    labels[start] = start;
    const queue = [start];
    for (const node of queue) {
      for (const next of neighbours[node] ?? []) {
        if (labels[next] !== -1) continue;
        labels[next] = start;
        queue.push(next);
      }
    }
  }
  return labels;
}

/** The same edges in another order and direction, the same each time. */
function shuffled(edges: readonly (readonly [number, number])[]): (readonly [number, number])[] {
  return edges.map(([a, b], place) => ({ edge: (place % 3 === 0 ? [b, a] : [a, b]) as readonly [number, number], key: Math.imul(place + 1, 0x9e3779b1) >>> 0 })).sort((a, b) => a.key - b.key).map(({ edge }) => edge);
}

test("Connected components: a chain, a star and cliques have the labels of a search, in any order of the edges", () => {
  const count = 100_000;
  const chain = Array.from({ length: count - 1 }, (_, node) => [node, node + 1] as const);
  const star = Array.from({ length: count - 1 }, (_, node) => [count - 1, node] as const);
  const cliques = Array.from({ length: 1000 }, (_, clique) => Array.from({ length: 10 }, (_, a) => Array.from({ length: a }, (_, b) => [clique * 10 + a, clique * 10 + b] as const)).flat()).flat();
  for (const [nodes, edges] of [[count, chain], [count, star], [10_000, cliques]] as const) {
    const expected = Uint32Array.from(reached(nodes, edges));
    for (const order of [edges, shuffled(edges)]) expect(Buffer.compare(Buffer.from(connectedComponents(nodes, order).buffer), Buffer.from(expected.buffer))).toBe(0);
  }
});

test("Connected components: any graph has the labels of a search; none has none", () => {
  const node = fc.nat({ max: 19 });
  fc.assert(
    fc.property(fc.array(fc.tuple(node, node), { maxLength: 30 }), (edges) => {
      expect(Array.from(connectedComponents(20, edges))).toEqual(reached(20, edges));
    }),
  );
  expect(connectedComponents(0, [])).toEqual(new Uint32Array());
  expect(Array.from(connectedComponents(3, []))).toEqual([0, 1, 2]);
});

test("an edge to a node that is not there, and a count that is none, are refused", () => {
  for (const edge of [[0, 3], [-1, 0], [0.5, 1], [NaN, 0]] as const) expect(() => connectedComponents(3, [edge])).toThrow(/nodes 0 to 2, found/);
  for (const count of [-1, 1.5, NaN]) expect(() => connectedComponents(count, [])).toThrow(RangeError);
});
