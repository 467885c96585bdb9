import { entry } from "@marin/iris";
import { MarinError } from "@marin/rigging";
import { zephyrContext } from "@marin/zephyr";

/** Two nodes that belong together. */
export interface GraphEdge {
  readonly a: string;
  readonly b: string;
}

/** An edge as one of its nodes sees it. */
export interface Link {
  readonly node: string;
  readonly neighbour: string;
}

/** A node and the smallest one that it is known to be connected with. */
export interface ComponentLabel {
  readonly id: string;
  readonly component: string;
}

/** What is counted. */
export const counterNames = { changed: "links-changed", nodes: "nodes", components: "components" } as const;

/**
 * Both ends of an edge; none of an edge from a node to itself.
 *
 * @throws MarinError MARIN_COMPONENT_EDGE
 */
export function* linksOfEdge(edge: GraphEdge): Generator<Link> {
  for (const end of ["a", "b"] as const) {
    if (typeof (edge as Partial<GraphEdge> | null)?.[end] === "string") continue;
    throw new MarinError("MARIN_COMPONENT_EDGE", `An edge is { a, b } with the ids of two nodes as texts, found ${JSON.stringify(edge)}.`, { data: { edge } });
  }
  if (edge.a !== edge.b) yield* bothWays({ node: edge.a, neighbour: edge.b });
}

/** A link and the same one as its other end sees it. */
export function* bothWays({ node, neighbour }: Link): Generator<Link> {
  yield { node, neighbour };
  yield { node: neighbour, neighbour: node };
}

export function nodeOf({ node }: Link): string {
  return node;
}

export function neighbourOf({ neighbour }: Link): string {
  return neighbour;
}

/**
 * The large star of a node (Kiveris and others, "Connected Components in MapReduce and Beyond", 2014): its larger neighbours are linked to the smallest of all, itself included.
 *
 * @param links - all of the node's links, the smallest neighbour first
 */
export async function* largeStar(node: string, links: AsyncIterable<Link>): AsyncGenerator<Link> {
  let least: string | undefined;
  let changed = 0;
  for await (const neighbour of differentNeighbours(links)) {
    least ??= isBefore(neighbour, node) ? neighbour : node;
    if (!isBefore(node, neighbour)) continue;
    changed += Number(least !== node);
    yield { node: neighbour, neighbour: least };
  }
  zephyrContext().count(counterNames.changed, changed);
}

/**
 * The small star of a node: its smaller neighbours, and it, are linked to the smallest of them.
 *
 * @param links - the node's links to smaller neighbours, the smallest first
 */
export async function* smallStar(node: string, links: AsyncIterable<Link>): AsyncGenerator<Link> {
  let least: string | undefined;
  let changed = 0;
  for await (const neighbour of differentNeighbours(links)) {
    if (least === undefined) {
      least = neighbour;
      yield { node, neighbour };
    } else {
      changed += 1;
      yield { node: neighbour, neighbour: least };
    }
  }
  zephyrContext().count(counterNames.changed, changed);
}

/** What a link says about its nodes: the smaller one may be the smallest of its component, and then has no other link to say so. */
export function* labelsOfLink({ node, neighbour }: Link): Generator<ComponentLabel> {
  yield { id: node, component: neighbour };
  yield { id: neighbour, component: neighbour };
}

export function idOf({ id }: ComponentLabel): string {
  return id;
}

export function componentOf({ component }: ComponentLabel): string {
  return component;
}

/** The smallest component that a node's labels name. @param labels - the smallest component first */
export async function* smallestLabel(_id: string, labels: AsyncIterable<ComponentLabel>): AsyncGenerator<ComponentLabel> {
  for await (const label of labels) {
    yield label;
    return;
  }
}

/** The members of a component, counted. */
export async function* members(_component: string, labels: AsyncIterable<ComponentLabel>): AsyncGenerator<ComponentLabel> {
  let nodes = 0;
  for await (const label of labels) {
    nodes += 1;
    yield label;
  }
  zephyrContext().count(counterNames.nodes, nodes);
  zephyrContext().count(counterNames.components);
}

async function* differentNeighbours(links: AsyncIterable<Link>): AsyncGenerator<string> {
  let last: string | undefined;
  for await (const { neighbour } of links) {
    if (neighbour === last) continue;
    last = neighbour;
    yield neighbour;
  }
}

/** By code points, the order in which groups come; `<` goes by code units, which surrogates make another order. */
export function isBefore(a: string, b: string): boolean {
  const length = Math.min(a.length, b.length);
  for (let at = 0; at < length; at += 1) {
    const [left, right] = [a.charCodeAt(at), b.charCodeAt(at)];
    if (left !== right) return rank(left) < rank(right);
  }
  return a.length < b.length;
}

/** Surrogates stand for code points above all others. */
function rank(unit: number): number {
  return unit >= 0xd800 && unit < 0xe000 ? unit + 0x10000 : unit;
}

/** The steps as workers find them. */
export const starSteps = {
  linksOfEdge: entry<typeof linksOfEdge>(import.meta.url, "linksOfEdge"),
  bothWays: entry<typeof bothWays>(import.meta.url, "bothWays"),
  nodeOf: entry<typeof nodeOf>(import.meta.url, "nodeOf"),
  neighbourOf: entry<typeof neighbourOf>(import.meta.url, "neighbourOf"),
  largeStar: entry<typeof largeStar>(import.meta.url, "largeStar"),
  smallStar: entry<typeof smallStar>(import.meta.url, "smallStar"),
  labelsOfLink: entry<typeof labelsOfLink>(import.meta.url, "labelsOfLink"),
  idOf: entry<typeof idOf>(import.meta.url, "idOf"),
  componentOf: entry<typeof componentOf>(import.meta.url, "componentOf"),
  smallestLabel: entry<typeof smallestLabel>(import.meta.url, "smallestLabel"),
  members: entry<typeof members>(import.meta.url, "members"),
};
