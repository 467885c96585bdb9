import { isMarinError } from "@marin/ducky";
import { describe, expect, it } from "vitest";
import { planTpuSlice, tpuGenerations, type TpuGenerationName } from "./accelerators.js";
import { parseCloudConfig } from "./config.js";

const right = { project: "my-project", region: "us-east5", zone: "us-east5-b", bucket: { name: "my-bucket" }, cluster: {} };

function refusal(changes: object): string {
  try {
    parseCloudConfig({ ...right, ...changes });
  } catch (error) {
    expect(isMarinError(error, "INFRA_BAD_CONFIG")).toBe(true);
    return (error as Error).message;
  }
  throw new Error("accepted");
}

const tpu = (options: object): object => ({ pools: { slice: { kind: "tpu", generation: "v6e", topology: "4x4", ...options } } });
const gpu = (options: object): object => ({ pools: { cards: { kind: "gpu", accelerator: "nvidia-h100-80gb", perNode: 8, ...options } } });

describe("a configuration", () => {
  it("is filled with defaults that cost and expose the least", () => {
    expect(parseCloudConfig({ ...right, pools: { slice: { kind: "tpu", generation: "v6e", topology: "4x4" } } })).toMatchObject({
      deletionProtection: true,
      cluster: { name: "marin", authorizedNetworks: {}, namespace: "marin", serviceAccount: "marin-tasks", releaseChannel: "REGULAR" },
      bucket: { softDeleteDays: 7 },
      system: { machineType: "e2-standard-4", minNodes: 1, maxNodes: 3 },
      pools: { slice: { slices: 1, scaleToZero: true, provisioning: "on-demand", diskGb: 100 } },
    });
  });

  it.each<[string, object, string]>([
    ["a zone of another region", { zone: "europe-west4-a" }, 'zone is "europe-west4-a" and must lie in the region us-east5'],
    ["a misspelt field", { regoin: "us-east5" }, 'Unrecognized key: "regoin"'],
    ["a bucket name in capitals", { bucket: { name: "My-Bucket" } }, "3 to 63 lower-case letters"],
    ["a range that is none", { cluster: { authorizedNetworks: { office: "203.0.113.0" } } }, "an IPv4 range"],
    ["a cluster without room for its own pods", { system: { minNodes: 0 } }, "system.minNodes is 0 and must be at least 1"],
    ["three days of soft deletion", { bucket: { name: "my-bucket", softDeleteDays: 3 } }, "must be 0 or 7 to 90"],
    ["a topology that the generation lacks", tpu({ topology: "3x3" }), 'pools.slice.topology: TPU v6e is not offered with "3x3", only with 1x1, 2x2, 4x4, 4x8, 8x8, 8x16, 16x16, 2x4.'],
    ["a topology that is none", tpu({ topology: "16" }), "chips along each axis"],
    ["an unknown generation", tpu({ generation: "v9" }), 'Invalid option: expected one of "v4"|"v5e"|"v5p"|"v6e"'],
    ["a machine of another topology", tpu({ machineType: "ct6e-standard-8t" }), 'pools.slice.machineType: TPU v6e 4x4 is not offered with "ct6e-standard-8t", only with ct6e-standard-4t.'],
    ["three GPUs a node", gpu({ perNode: 3 }), "pools.cards.perNode: nvidia-h100-80gb is not offered with 3, only with 1, 2, 4, 8."],
    ["a machine that holds another number", gpu({ machineType: "a3-highgpu-4g" }), "only with a3-highgpu-8g"],
    ["a spot-only machine on demand", gpu({ perNode: 2 }), 'a3-highgpu-2g is not rented on demand. Say "spot", or take 8 GPUs a node.'],
    ["an unknown GPU", gpu({ accelerator: "nvidia-h1000" }), '"nvidia-b200"|"nvidia-h200-141gb"'],
    ["fewer nodes at most than at least", gpu({ minNodes: 3, maxNodes: 2 }), "pools.cards.minNodes is 3 and must not exceed maxNodes (2)"],
    ["a pool under the name of the cluster's own", { pools: { system: { kind: "cpu" } } }, 'makes a second node pool named "system"'],
    [
      "two pools whose slices share a name",
      { pools: { a: { kind: "tpu", generation: "v6e", topology: "4x4", slices: 2 }, "a-1": { kind: "cpu" } } },
      'pools is "a-1" and makes a second node pool named "a-1"',
    ],
  ])("with %s is refused", (_, changes, message) => {
    expect(refusal(changes)).toContain(message);
  });

  it("with several faults names all of them", () => {
    const message = refusal({ project: "X", pools: { p: { kind: "tpu", generation: "v6e", topology: "4x4", slices: 0 } } });
    expect(message).toContain("project");
    expect(message).toContain("pools.p.slices");
  });
});

describe("the table of TPUs", () => {
  const rows = Object.entries(tpuGenerations).flatMap(([generation, { topologies }]) =>
    Object.entries(topologies).flatMap(([topology, machines]) => machines.map(({ machineType }) => [generation as TpuGenerationName, topology, machineType] as const)),
  );

  it.each(rows)("%s %s divides into whole machines of type %s", (generation, topology, machineType) => {
    const { nodes, chipsPerNode } = planTpuSlice("p", generation, topology, machineType);
    expect(Number.isInteger(nodes)).toBe(true);
    expect(nodes * chipsPerNode).toBe(topology.split("x").map(Number).reduce((a, b) => a * b));
  });

  // Machine counts as printed in "Plan TPUs in GKE".
  it.each([
    ["v4", "2x2x1", undefined, 1],
    ["v4", "4x4x4", undefined, 16],
    ["v5e", "2x4", "ct5lp-hightpu-8t", 1],
    ["v5e", "2x4", "ct5lp-hightpu-4t", 2],
    ["v5e", "16x16", undefined, 64],
    ["v5p", "2x2x4", undefined, 4],
    ["v6e", "1x1", undefined, 1],
    ["v6e", "8x16", undefined, 32],
  ] as const)("a slice of %s %s on %s takes %i machines", (generation, topology, machineType, expected) => {
    expect(planTpuSlice("p", generation, topology, machineType).nodes).toBe(expected);
  });
});
