import { MarinError } from "@marin/ducky";
import { z } from "zod";
import { gpuAccelerators, planGpuMachine, planTpuSlice, tpuGenerations, type GpuAcceleratorName, type TpuGenerationName } from "./accelerators.js";

const name = z
  .string()
  .max(24, "at most 24 characters")
  .regex(/^[a-z](?:[a-z0-9-]*[a-z0-9])?$/, "lower-case letters, digits and hyphens, beginning with a letter and not ending with a hyphen");
const nodes = z.int().min(0).max(1_000);
const provisioning = z
  .enum(["on-demand", "spot", "preemptible"])
  .default("on-demand")
  .describe("How machines are rented: spot costs less and may be taken back at any moment; preemptible likewise, and after 24 hours at the latest.");
const diskGb = z.int().min(20).max(65_536).default(100).describe("Size of each node's boot disk, GB.");

const cpuPool = z.strictObject({
  kind: z.literal("cpu"),
  machineType: z.string().default("e2-standard-4").describe("Compute Engine machine type."),
  minNodes: nodes.default(0).describe("Nodes kept when nothing runs. 0 lets the pool scale to zero."),
  maxNodes: nodes.min(1).default(3).describe("Nodes at most."),
  provisioning,
  diskGb,
});

const gpuPool = z.strictObject({
  kind: z.literal("gpu"),
  accelerator: z.enum(Object.keys(gpuAccelerators) as [GpuAcceleratorName, ...GpuAcceleratorName[]]).describe("GPU kind, one of accelerators.ts."),
  perNode: z.int().min(1).describe("GPUs in one node: one of the numbers that Google offers with this kind."),
  machineType: z.string().optional().describe("Machine type, where several hold so many GPUs. Default: the first in accelerators.ts."),
  minNodes: nodes.default(0).describe("Nodes kept when nothing runs. 0 lets the pool scale to zero."),
  maxNodes: nodes.min(1).default(1).describe("Nodes at most."),
  provisioning,
  diskGb,
});

const tpuPool = z.strictObject({
  kind: z.literal("tpu"),
  generation: z.enum(Object.keys(tpuGenerations) as [TpuGenerationName, ...TpuGenerationName[]]).describe("TPU generation, one of accelerators.ts."),
  topology: z.string().regex(/^\d+x\d+(?:x\d+)?$/, 'chips along each axis, for example "4x4" or "2x2x2"').describe("Chips along each axis of one slice."),
  machineType: z.string().optional().describe("Machine type, where several offer the topology. Default: the first in accelerators.ts."),
  slices: z.int().min(1).max(64).default(1).describe("Slices: GKE keeps each slice of several machines as a node pool of its own."),
  scaleToZero: z.boolean().default(true).describe("Whether a slice is given back while nothing runs on it, and made again when a pod asks for it."),
  provisioning,
  diskGb,
});

/** One node pool: `kind` says which fields it has. */
export const poolSchema = z.discriminatedUnion("kind", [cpuPool, gpuPool, tpuPool]);

/** The whole configuration: the value of `marin:cloud` in a stack's file. */
export const cloudSchema = z.strictObject({
  project: z.string().regex(/^[a-z][a-z0-9-]{4,28}[a-z0-9]$/, "6 to 30 lower-case letters, digits and hyphens").describe("Google Cloud project id."),
  region: z.string().regex(/^[a-z]+-[a-z]+\d+$/, 'a region such as "us-east5"').describe("Region of the bucket and the network."),
  zone: z
    .string()
    .regex(/^[a-z]+-[a-z]+\d+-[a-z]$/, 'a zone such as "us-east5-b"')
    .describe("Zone of the cluster and its nodes: accelerators stand in single zones."),
  deletionProtection: z.boolean().default(true).describe("Refuse to delete the bucket and the cluster. Set it to false, apply, and only then destroy."),
  bucket: z.strictObject({
    name: z.string().regex(/^[a-z0-9][a-z0-9._-]{1,61}[a-z0-9]$/, "3 to 63 lower-case letters, digits, dots, hyphens and underscores").describe("The bucket's name, unique in the world."),
    softDeleteDays: z.int().min(0).max(90).default(7).describe("Days in which deleted objects can be restored. Storage is paid meanwhile; Google takes 0 or 7 to 90."),
  }),
  cluster: z.strictObject({
    name: name.default("marin").describe("The cluster's name; networks, identities and pools begin with it."),
    releaseChannel: z.enum(["RAPID", "REGULAR", "STABLE"]).default("REGULAR").describe("How early Google upgrades the cluster."),
    authorizedNetworks: z
      .record(z.string(), z.cidrv4('an IPv4 range such as "203.0.113.0/24"'))
      .default({})
      .describe("Names and IPv4 ranges from which the control plane can be reached. Empty: only from within the network."),
    namespace: name.default("marin").describe("Kubernetes namespace of the tasks."),
    serviceAccount: name.default("marin-tasks").describe("Kubernetes service account that acts as the tasks' Google identity."),
  }),
  system: cpuPool
    .omit({ kind: true })
    .prefault({ minNodes: 1 })
    .describe("The pool for the cluster's own pods, which accelerator pools turn away. Keep at least one node."),
  pools: z.record(name, poolSchema).default({}).describe("Further node pools by name."),
});

/** Checked configuration, defaults filled in. */
export type CloudConfig = z.output<typeof cloudSchema>;
/** One checked pool. */
export type PoolConfig = z.output<typeof poolSchema>;

/**
 * Checks a stack's configuration as a whole: types, and what the types cannot say.
 *
 * @param value - the JSON value of `marin:cloud`
 * @throws MarinError INFRA_BAD_CONFIG naming every wrong field, what was found there and what would be right
 */
export function parseCloudConfig(value: unknown): CloudConfig {
  const parsed = cloudSchema.safeParse(value);
  if (!parsed.success) {
    throw new MarinError("INFRA_BAD_CONFIG", `The configuration marin:cloud is not right:\n${z.prettifyError(parsed.error)}`, { data: { issues: parsed.error.issues }, cause: parsed.error });
  }
  const config = parsed.data;
  if (!config.zone.startsWith(`${config.region}-`)) {
    throw wrong("zone", config.zone, `must lie in the region ${config.region}`);
  }
  if (config.bucket.softDeleteDays > 0 && config.bucket.softDeleteDays < 7) {
    throw wrong("bucket.softDeleteDays", config.bucket.softDeleteDays, "must be 0 or 7 to 90");
  }
  if (config.system.minNodes < 1) {
    throw wrong("system.minNodes", config.system.minNodes, "must be at least 1: the cluster's own pods have nowhere else to run");
  }
  checkPool("system", { kind: "cpu", ...config.system });
  const taken = new Set(["system"]);
  for (const [pool, options] of Object.entries(config.pools)) {
    checkPool(pool, options);
    for (const nodePool of nodePoolNames(pool, options)) {
      if (taken.has(nodePool)) {
        throw wrong("pools", pool, `makes a second node pool named "${nodePool}"`);
      }
      taken.add(nodePool);
    }
  }
  return config;
}

/**
 * Names of the GKE node pools that one configured pool consists of: its own, or `<pool>-0`, `<pool>-1` and so on for several TPU slices that
 * each take several machines.
 *
 * @param pool - the pool's name
 * @param options - the pool
 */
export function nodePoolNames(pool: string, options: PoolConfig): string[] {
  const apart = options.kind === "tpu" && options.slices > 1 && planTpuSlice(pool, options.generation, options.topology, options.machineType).nodes > 1;
  return apart ? Array.from({ length: options.slices }, (_, index) => `${pool}-${index}`) : [pool];
}

function checkPool(pool: string, options: PoolConfig): void {
  if (options.kind === "tpu") {
    planTpuSlice(pool, options.generation, options.topology, options.machineType);
    return;
  }
  if (options.minNodes > options.maxNodes) {
    throw wrong(`pools.${pool}.minNodes`, options.minNodes, `must not exceed maxNodes (${options.maxNodes})`);
  }
  if (options.kind === "gpu") {
    planGpuMachine(pool, options.accelerator, options.perNode, options.machineType, options.provisioning === "on-demand");
  }
}

function wrong(field: string, given: unknown, rule: string): MarinError {
  return new MarinError("INFRA_BAD_CONFIG", `The configuration marin:cloud is not right: ${field} is ${JSON.stringify(given)} and ${rule}.`, { data: { field, given } });
}
