import { MarinError } from "@marin/ducky";
import { byUtf8 } from "./range.js";
import type { Storage, StorageEntry } from "./storage.js";

type Segment = string | { test(name: string): boolean } | symbol;

/** A pattern without braces: where to begin, and what to match from there. */
interface Plan {
  /** What stands before the first wildcard, up to a "/". */
  readonly base: string;
  /** Names, matchers of names, and `globstar`. Empty: the base is a path of one object. */
  readonly segments: readonly Segment[];
  /** The segments as a test of whole relative paths. */
  readonly matches: (relative: string) => boolean;
}

/** All objects that the pattern names, sorted. */
export async function* globbed(storage: Storage, pattern: string): AsyncGenerator<StorageEntry> {
  const found = new Map<string, StorageEntry>();
  const { plans, globstar } = await plansOf(pattern);
  for (const plan of plans) {
    if (plan.segments.length > 0) {
      for await (const entry of descend(storage, plan.base, plan, 0, globstar)) found.set(entry.path, entry);
    } else {
      const stat = await storage.stat(plan.base);
      if (stat !== undefined) found.set(plan.base, { path: plan.base, bytes: stat.bytes });
    }
  }
  for (const path of [...found.keys()].sort(byUtf8)) yield found.get(path) as StorageEntry;
}

/**
 * The paths that a pattern names, in the order of its braces. What is named without a wildcard is given whether it is there or
 * not, so that reading tells what is missing; a part with wildcards gives the objects that are there, sorted.
 *
 * @param pattern - as for {@link Storage.glob}
 * @throws MarinError RIGGING_NO_MATCH when a part with wildcards matches nothing
 */
export async function expandGlob(pattern: string, storage: Storage): Promise<string[]> {
  const paths = new Set<string>();
  const { plans, globstar } = await plansOf(pattern);
  for (const plan of plans) {
    if (plan.segments.length === 0) {
      paths.add(plan.base);
      continue;
    }
    const found: string[] = [];
    for await (const { path } of descend(storage, plan.base, plan, 0, globstar)) found.push(path);
    if (found.length === 0) throw new MarinError("RIGGING_NO_MATCH", `Nothing matches ${pattern}; there ${plan.base === "" ? "" : `in ${plan.base} `}is no such object.`, { data: { pattern } });
    for (const path of found.sort(byUtf8)) paths.add(path);
  }
  return [...paths];
}

async function* descend(storage: Storage, base: string, plan: Plan, index: number, globstar: symbol): AsyncGenerator<StorageEntry> {
  const segment = plan.segments[index];
  const isLast = index === plan.segments.length - 1;
  if (segment === globstar) {
    for await (const entry of storage.list(base)) if (plan.matches(entry.path.slice(plan.base.length))) yield entry;
  } else if (typeof segment === "string") {
    const path = base + segment;
    const stat = isLast ? await storage.stat(path) : undefined;
    if (stat !== undefined) yield { path, bytes: stat.bytes };
    if (!isLast) yield* descend(storage, `${path}/`, plan, index + 1, globstar);
  } else {
    for await (const entry of storage.listDirectory(base)) {
      const name = entry.path.slice(base.length).replace(/\/$/, "");
      if (!(segment as { test(name: string): boolean }).test(name)) continue;
      if (!isLast && entry.kind === "directory") yield* descend(storage, entry.path, plan, index + 1, globstar);
      if (isLast && entry.kind === "file") yield { path: entry.path, bytes: entry.bytes };
    }
  }
}

async function plansOf(pattern: string): Promise<{ readonly plans: readonly Plan[]; readonly globstar: symbol }> {
  const { braceExpand, GLOBSTAR, Minimatch } = await import("minimatch");
  const plans = braceExpand(pattern).map((part): Plan => {
    // A bucket or host is no name to match, "https://[::1]/a"; what follows other schemes may be: "memory://*.txt".
    const [, root = "", rest = ""] = /^(https?:\/\/[^/]*\/|[a-z][a-z0-9+.-]+:\/\/(?:[^/*?[]*\/)?|\/*)(.*)$/is.exec(part) ?? [];
    const matcher = new Minimatch(rest, { nobrace: true, nocomment: true, nonegate: true, noext: true, preserveMultipleSlashes: true, optimizationLevel: 0, platform: "linux" });
    const segments = rest === "" ? [] : ((matcher.set[0] ?? []) as Segment[]);
    const literal = segments.findIndex((segment) => typeof segment !== "string");
    const before = (literal === -1 ? segments : segments.slice(0, literal)) as string[];
    if (literal === -1) return { base: root + before.join("/"), segments: [], matches: (): boolean => false };
    const base = root + before.map((name) => `${name}/`).join("");
    const tail = new Minimatch(rest.split("/").slice(literal).join("/"), matcher.options);
    return { base, segments: segments.slice(literal), matches: (relative: string): boolean => tail.match(relative) };
  });
  return { plans, globstar: GLOBSTAR };
}
