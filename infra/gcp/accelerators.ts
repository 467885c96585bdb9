import { MarinError } from "@marin/ducky";

/** A machine type that offers one TPU topology: how many chips each of its nodes holds. */
export interface TpuMachine {
  /** Compute Engine machine type, for example `ct6e-standard-4t`. */
  readonly machineType: string;
  /** Chips in one node: what a pod asks for as `google.com/tpu`. */
  readonly chipsPerNode: number;
}

/** One TPU generation as GKE sells it. */
export interface TpuGeneration {
  /** Value of the node label `cloud.google.com/gke-tpu-accelerator`, which GKE sets itself and pods select by. */
  readonly label: string;
  /** For each topology (chips along each axis) the machine types that offer it; the first is the default. */
  readonly topologies: Readonly<Record<string, readonly TpuMachine[]>>;
}

const machine = (machineType: string): TpuMachine => ({ machineType, chipsPerNode: Number(/(\d+)t$/.exec(machineType)?.[1]) });
const on = (machines: readonly string[], topologies: readonly string[]): Record<string, readonly TpuMachine[]> =>
  Object.fromEntries(topologies.map((topology) => [topology, machines.map(machine)]));

/**
 * TPU generations, their topologies and machine types.
 *
 * Source: Google Cloud, "Plan TPUs in GKE" (https://cloud.google.com/kubernetes-engine/docs/concepts/plan-tpus), tables per TPU version;
 * compared with `src/xpk/core/system_characteristics.py` of https://github.com/AI-Hypercomputer/xpk. Slices of v4 and v5p above 512 chips are left out;
 * so is Ironwood (tpu7x), whose pools take a workload policy instead of a topology.
 */
export const tpuGenerations = {
  v4: {
    label: "tpu-v4-podslice",
    topologies: on(["ct4p-hightpu-4t"], ["2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x8x8", "8x8x8"]),
  },
  v5e: {
    label: "tpu-v5-lite-podslice",
    topologies: {
      ...on(["ct5lp-hightpu-1t"], ["1x1"]),
      ...on(["ct5lp-hightpu-4t"], ["2x2", "4x4", "4x8", "8x8", "8x16", "16x16"]),
      ...on(["ct5lp-hightpu-4t", "ct5lp-hightpu-8t"], ["2x4"]),
    },
  },
  v5p: {
    label: "tpu-v5p-slice",
    topologies: on(
      ["ct5p-hightpu-4t"],
      ["2x2x1", "2x2x2", "2x2x4", "2x4x4", "4x4x4", "4x4x8", "4x4x12", "4x8x8", "4x4x20", "4x8x12", "4x4x28", "8x8x8"],
    ),
  },
  v6e: {
    label: "tpu-v6e-slice",
    topologies: {
      ...on(["ct6e-standard-1t"], ["1x1"]),
      ...on(["ct6e-standard-4t"], ["2x2", "4x4", "4x8", "8x8", "8x16", "16x16"]),
      ...on(["ct6e-standard-4t", "ct6e-standard-8t"], ["2x4"]),
    },
  },
} as const satisfies Record<string, TpuGeneration>;

/** Names of the TPU generations in {@link tpuGenerations}. */
export type TpuGenerationName = keyof typeof tpuGenerations;

/**
 * GPU kinds (Compute Engine accelerator types) and, for each number of GPUs in a node, the machine types that hold it; the first is the default.
 *
 * Source: Google Cloud, "GPU machine types" (https://cloud.google.com/compute/docs/gpus) and "About GPUs in GKE"
 * (https://cloud.google.com/kubernetes-engine/docs/concepts/gpus). T4 is attached to a general machine type; the others come with theirs.
 */
export const gpuAccelerators = {
  "nvidia-b200": { 8: ["a4-highgpu-8g"] },
  "nvidia-h200-141gb": { 8: ["a3-ultragpu-8g"] },
  "nvidia-h100-mega-80gb": { 8: ["a3-megagpu-8g"] },
  "nvidia-h100-80gb": { 1: ["a3-highgpu-1g"], 2: ["a3-highgpu-2g"], 4: ["a3-highgpu-4g"], 8: ["a3-highgpu-8g"] },
  "nvidia-a100-80gb": { 1: ["a2-ultragpu-1g"], 2: ["a2-ultragpu-2g"], 4: ["a2-ultragpu-4g"], 8: ["a2-ultragpu-8g"] },
  "nvidia-tesla-a100": { 1: ["a2-highgpu-1g"], 2: ["a2-highgpu-2g"], 4: ["a2-highgpu-4g"], 8: ["a2-highgpu-8g"], 16: ["a2-megagpu-16g"] },
  "nvidia-l4": {
    1: ["g2-standard-12", "g2-standard-4", "g2-standard-8", "g2-standard-16", "g2-standard-32"],
    2: ["g2-standard-24"],
    4: ["g2-standard-48"],
    8: ["g2-standard-96"],
  },
  "nvidia-tesla-t4": { 1: ["n1-standard-8"], 2: ["n1-standard-16"], 4: ["n1-standard-32"] },
} as const satisfies Record<string, Readonly<Record<number, readonly string[]>>>;

/** Names of the GPU kinds in {@link gpuAccelerators}. */
export type GpuAcceleratorName = keyof typeof gpuAccelerators;

/** GPU machine types that Google rents only as spot or flex-start capacity (source: the page named at {@link gpuAccelerators}). */
const spotOnly: ReadonlySet<string> = new Set(["a3-highgpu-1g", "a3-highgpu-2g", "a3-highgpu-4g"]);

/** One TPU slice: its machines and how many of them form it. */
export interface TpuSlice extends TpuMachine {
  /** Node label value by which pods find the slice's generation. */
  readonly label: string;
  /** Nodes that form the slice: chips of the topology / chips per node. More than one means that GKE makes and removes them all at once. */
  readonly nodes: number;
}

/**
 * The machines that form a TPU slice.
 *
 * @param pool - the pool's name, for the message
 * @param generation - TPU generation
 * @param topology - chips along each axis, for example `4x4`
 * @param machineType - one of those that offer the topology; the table's first when undefined
 * @throws MarinError INFRA_BAD_CONFIG when the generation has no such topology, or the topology no such machine type
 */
export function planTpuSlice(pool: string, generation: TpuGenerationName, topology: string, machineType?: string): TpuSlice {
  const { label, topologies }: TpuGeneration = tpuGenerations[generation];
  const machines = topologies[topology];
  if (machines === undefined) {
    throw refuse(pool, "topology", topology, Object.keys(topologies), `TPU ${generation}`);
  }
  const chosen = machineType === undefined ? machines[0] : machines.find((candidate) => candidate.machineType === machineType);
  if (chosen === undefined) {
    throw refuse(pool, "machineType", machineType, machines.map((candidate) => candidate.machineType), `TPU ${generation} ${topology}`);
  }
  const chips = topology.split("x").reduce((product, axis) => product * Number(axis), 1);
  return { ...chosen, label, nodes: chips / chosen.chipsPerNode };
}

/**
 * The machine type of a GPU pool.
 *
 * @param pool - the pool's name, for the message
 * @param accelerator - GPU kind
 * @param perNode - GPUs in one node
 * @param machineType - one of those that hold so many; the table's first when undefined
 * @param onDemand - whether the pool asks for machines that are not taken back
 * @throws MarinError INFRA_BAD_CONFIG when no machine type holds so many, when `machineType` does not, or when the machine type is not rented on demand
 */
export function planGpuMachine(pool: string, accelerator: GpuAcceleratorName, perNode: number, machineType: string | undefined, onDemand: boolean): string {
  const counts: Readonly<Record<number, readonly string[]>> = gpuAccelerators[accelerator];
  const machines = counts[perNode];
  if (machines === undefined) {
    throw refuse(pool, "perNode", perNode, Object.keys(counts), accelerator);
  }
  const chosen = machineType === undefined ? machines[0] : machines.find((candidate) => candidate === machineType);
  if (chosen === undefined) {
    throw refuse(pool, "machineType", machineType, machines, `${perNode} ${accelerator} a node`);
  }
  if (onDemand && spotOnly.has(chosen)) {
    throw new MarinError("INFRA_BAD_CONFIG", `pools.${pool}.provisioning: ${chosen} is not rented on demand. Say "spot", or take 8 GPUs a node.`, {
      data: { pool, field: "provisioning", machineType: chosen },
    });
  }
  return chosen;
}

function refuse(pool: string, field: string, given: string | number | undefined, offered: readonly string[], of: string): MarinError {
  return new MarinError("INFRA_BAD_CONFIG", `pools.${pool}.${field}: ${of} is not offered with ${JSON.stringify(given)}, only with ${offered.join(", ")}.`, {
    data: { pool, field, given, offered },
  });
}
