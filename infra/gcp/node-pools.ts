import * as container from "@pulumi/gcp/container/index.js";
import type * as input from "@pulumi/gcp/types/input.js";
import type * as serviceaccount from "@pulumi/gcp/serviceaccount/index.js";
import { planGpuMachine, planTpuSlice } from "./accelerators.js";
import { nodePoolNames, type CloudConfig, type PoolConfig } from "./config.js";

/** What one GKE node pool consists of, as Pulumi takes it. */
type PoolArguments = Pick<container.NodePoolArgs, "autoscaling" | "initialNodeCount" | "nodeCount" | "placementPolicy"> & {
  readonly machine: input.container.NodePoolNodeConfig;
};
type Pool<Kind> = Extract<PoolConfig, { kind: Kind }>;

/**
 * The pool for the cluster's own pods and the configured ones. A TPU slice of several machines is a pool of its own, `<name>-0`, `<name>-1` and so
 * on when there is more than one. GKE itself keeps other pods off machines with accelerators (`nvidia.com/gpu`, `google.com/tpu`).
 */
export function createNodePools(config: CloudConfig, cluster: container.Cluster, nodes: serviceaccount.Account): container.NodePool[] {
  const pools: [string, PoolConfig][] = [["system", { kind: "cpu", ...config.system }], ...Object.entries(config.pools)];
  return pools.flatMap(([pool, options]) => {
    const { machine, ...shape } = planPool(pool, options);
    return nodePoolNames(pool, options).map((name) =>
      new container.NodePool(`${config.cluster.name}-${name}`, {
        ...shape,
        name,
        project: config.project,
        location: config.zone,
        cluster: cluster.name,
        management: { autoRepair: true, autoUpgrade: true },
        nodeConfig: {
          diskSizeGb: options.diskGb,
          spot: options.provisioning === "spot",
          preemptible: options.provisioning === "preemptible",
          serviceAccount: nodes.email,
          // What a machine may do is decided by its identity's roles; this older limit is left open, as Google advises.
          oauthScopes: ["https://www.googleapis.com/auth/cloud-platform"],
          labels: { "marin-pool": pool },
          metadata: { "disable-legacy-endpoints": "true" },
          workloadMetadataConfig: { mode: "GKE_METADATA" },
          shieldedInstanceConfig: { enableSecureBoot: true, enableIntegrityMonitoring: true },
          ...machine,
        },
      }),
    );
  });
}

function planPool(pool: string, options: PoolConfig): PoolArguments {
  switch (options.kind) {
    case "cpu":
      return { ...between(options), machine: { machineType: options.machineType } };
    case "gpu":
      return gpuPool(pool, options);
    case "tpu":
      return tpuPool(pool, options);
  }
}

function gpuPool(pool: string, options: Pool<"gpu">): PoolArguments {
  const machineType = planGpuMachine(pool, options.accelerator, options.perNode, options.machineType, options.provisioning === "on-demand");
  return {
    ...between(options),
    machine: {
      machineType,
      gvnic: { enabled: true },
      guestAccelerators: [{ type: options.accelerator, count: options.perNode, gpuDriverInstallationConfig: { gpuDriverVersion: "DEFAULT" } }],
    },
  };
}

function tpuPool(pool: string, { generation, topology, machineType, slices, scaleToZero }: Pool<"tpu">): PoolArguments {
  const slice = planTpuSlice(pool, generation, topology, machineType);
  // Slices of one machine need no wires between them, and one pool holds them all. Of a larger slice GKE makes all machines at once, or none: its
  // pool scales between zero and all of them.
  const machines = slice.nodes === 1 ? slices : slice.nodes;
  return {
    ...(scaleToZero ? between({ minNodes: 0, maxNodes: machines }) : { nodeCount: machines }),
    ...(slice.nodes > 1 ? { placementPolicy: { type: "COMPACT", tpuTopology: topology } } : {}),
    machine: { machineType: slice.machineType },
  };
}

function between({ minNodes, maxNodes }: { readonly minNodes: number; readonly maxNodes: number }): Pick<container.NodePoolArgs, "autoscaling" | "initialNodeCount"> {
  return { initialNodeCount: minNodes, autoscaling: { minNodeCount: minNodes, maxNodeCount: maxNodes, locationPolicy: "ANY" } };
}
