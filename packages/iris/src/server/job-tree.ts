import type { JobSummary } from "../client/iris-api.js";

/** A job and how deep it lies below another of the list. */
export interface JobNode {
  readonly job: JobSummary;
  readonly depth: number;
}

/**
 * Jobs in the order of a tree: each is followed by those below it, by their ids; those without a parent in the list keep their order. Of jobs with one id, children belong to the first.
 *
 * @param jobs - in any order
 */
export function jobTree(jobs: readonly JobSummary[]): JobNode[] {
  const byId = new Map<string, JobSummary>();
  for (const job of jobs) if (!byId.has(job.id)) byId.set(job.id, job);
  const children = new Map<JobSummary, JobSummary[]>();
  const roots: JobSummary[] = [];
  for (const job of jobs) {
    const parent = parentOf(job.id, byId);
    if (parent === undefined) roots.push(job);
    else children.set(parent, [...(children.get(parent) ?? []), job]);
  }
  const nodes: JobNode[] = [];
  const rest = roots.map((job): JobNode => ({ job, depth: 0 })).reverse();
  // No recursion: ids may be as deep as they like.
  for (let node = rest.pop(); node !== undefined; node = rest.pop()) {
    nodes.push(node);
    const { job, depth } = node;
    const below = byId.get(job.id) === job ? (children.get(job) ?? []) : [];
    for (const child of [...below].sort((a, b) => (a.id < b.id ? 1 : a.id > b.id ? -1 : 0))) rest.push({ job: child, depth: depth + 1 });
  }
  return nodes;
}

/** The nearest job above, by id. A name may be a path of several words, so the one directly above need not be the parent's. */
function parentOf(id: string, byId: ReadonlyMap<string, JobSummary>): JobSummary | undefined {
  for (let end = id.lastIndexOf("/"); end > 0; end = id.lastIndexOf("/", end - 1)) {
    const parent = byId.get(id.slice(0, end));
    if (parent !== undefined) return parent;
  }
  return undefined;
}
