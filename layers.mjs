/**
 * The package graph: for each package its floor, the packages it may import, and what it is for.
 * The only source of it: eslint, the manifest check and the picture in the README read this file.
 */
export const layers = {
  ducky: { floor: 0, imports: [], purpose: "typed RPC and tunnels" },
  dupekit: { floor: 0, imports: [], purpose: "hashing, MinHash, LSH, Bloom filters, clustering" },
  rigging: { floor: 1, imports: ["ducky"], purpose: "auth, secrets, telemetry, storage, leases, retries, configuration" },
  fray: { floor: 2, imports: ["rigging", "ducky"], purpose: "actors, futures, pools: the execution primitives" },
  finestore: { floor: 2, imports: ["rigging"], purpose: "versioned artifacts, lineage, cache, schemas" },
  iris: { floor: 3, imports: ["fray", "rigging", "ducky"], purpose: "jobs, scheduling, runtime context; the base that levanter and zephyr see" },
  levanter: { floor: 4, imports: ["iris"], purpose: "models, optimizers, trainer, checkpoints, evaluation" },
  zephyr: { floor: 4, imports: ["iris"], purpose: "lazy datasets, readers, writers, shuffles, workers" },
  marin: {
    floor: 5,
    imports: ["levanter", "zephyr", "iris", "fray", "finestore", "rigging", "ducky", "dupekit"],
    purpose: "experiments, pipelines, data kit, inference, command line, dashboard",
  },
};
