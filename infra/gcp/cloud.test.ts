import { describe, expect, it } from "vitest";
import { record, type Requested } from "../test/record.js";

const smallest = { project: "my-project", region: "us-east5", zone: "us-east5-b", bucket: { name: "my-bucket" }, cluster: {} };

async function requested(changes: object = {}): Promise<Requested[]> {
  return (await record({ ...smallest, ...changes })).resources;
}

function the(resources: readonly Requested[], type: string, name?: string): Requested {
  const found = resources.filter((resource) => resource.type.endsWith(`:${type}`) && (name === undefined || resource.name === name));
  expect(found.map((resource) => resource.name)).toHaveLength(1);
  return found[0]!;
}

async function pools(configured: object): Promise<Map<string, Requested["inputs"]>> {
  const resources = await requested({ pools: configured });
  return new Map(resources.filter(({ type }) => type.endsWith(":NodePool")).map(({ inputs }) => [inputs["name"] as string, inputs]));
}

describe("the smallest stack", () => {
  it("makes a network, a bucket, two identities, a cluster and the pool of its own pods, and no more", async () => {
    const resources = await requested();
    expect(resources.map(({ type }) => type.split(":").at(-1)).sort()).toEqual(
      ["Account", "Account", "Bucket", "BucketIAMMember", "Cluster", "IAMMember", "IAMMember", "Network", "NodePool", "Router", "RouterNat", "Subnetwork"].sort(),
    );
  });

  it("tells where its bucket is and what to do next", async () => {
    const { outputs } = await record(smallest);
    expect(outputs).toMatchObject({ bucketUrl: "gs://my-bucket", clusterName: "marin", taskIdentity: "marin-tasks@my-project.iam.gserviceaccount.com", nodePools: ["system"] });
    expect((outputs["nextSteps"] as string[]).at(-1)).toBe(
      "kubectl annotate serviceaccount marin-tasks --namespace marin iam.gke.io/gcp-service-account=marin-tasks@my-project.iam.gserviceaccount.com",
    );
  });
});

describe("the bucket", () => {
  it("can be opened to nobody: no public objects, no access per object", async () => {
    const { inputs } = the(await requested(), "Bucket");
    expect(inputs).toMatchObject({ name: "my-bucket", location: "US-EAST5", publicAccessPrevention: "enforced", uniformBucketLevelAccess: true, forceDestroy: false });
    expect(inputs["softDeletePolicy"]).toEqual({ retentionDurationSeconds: 604_800 });
  });

  it("is kept from deletion, as the cluster is, unless the configuration says otherwise", async () => {
    const kept = await requested();
    expect(the(kept, "Bucket").protect).toBe(true);
    expect(the(kept, "Cluster")).toMatchObject({ protect: true, inputs: { deletionProtection: true } });
    const free = await requested({ deletionProtection: false });
    expect(the(free, "Bucket").protect).toBe(false);
    expect(the(free, "Cluster")).toMatchObject({ protect: false, inputs: { deletionProtection: false } });
  });
});

describe("identities", () => {
  it("are granted exactly three roles, none to everybody and none that administers", async () => {
    const resources = await requested({ cluster: { namespace: "research", serviceAccount: "trainer" } });
    const grants = resources.filter(({ type }) => /IAM(?:Member|Binding|Policy)$/.test(type)).map(({ type, inputs }) => [type.split(":").at(-1), inputs["role"] as string, inputs["member"] as string]);
    expect(grants.sort()).toEqual([
      ["BucketIAMMember", "roles/storage.objectUser", "serviceAccount:marin-tasks@my-project.iam.gserviceaccount.com"],
      ["IAMMember", "roles/container.defaultNodeServiceAccount", "serviceAccount:marin-nodes@my-project.iam.gserviceaccount.com"],
      ["IAMMember", "roles/iam.workloadIdentityUser", "serviceAccount:my-project.svc.id.goog[research/trainer]"],
    ]);
    expect(the(resources, "BucketIAMMember").inputs["bucket"]).toBe("my-bucket");
    expect(resources.some(({ type }) => type.endsWith(":Key"))).toBe(false);
  });

  it("of the machines are not the tasks'", async () => {
    const { inputs } = the(await requested(), "NodePool");
    expect(inputs["nodeConfig"]).toMatchObject({
      serviceAccount: "marin-nodes@my-project.iam.gserviceaccount.com",
      workloadMetadataConfig: { mode: "GKE_METADATA" },
      metadata: { "disable-legacy-endpoints": "true" },
      shieldedInstanceConfig: { enableSecureBoot: true, enableIntegrityMonitoring: true },
    });
  });
});

describe("the cluster", () => {
  it("has workload identity, private nodes and a control plane that nobody outside reaches", async () => {
    expect(the(await requested(), "Cluster").inputs).toMatchObject({
      location: "us-east5-b",
      removeDefaultNodePool: true,
      workloadIdentityConfig: { workloadPool: "my-project.svc.id.goog" },
      privateClusterConfig: { enablePrivateNodes: true, enablePrivateEndpoint: true },
      masterAuthorizedNetworksConfig: { cidrBlocks: [], gcpPublicCidrsAccessEnabled: false },
      masterAuth: { clientCertificateConfig: { issueClientCertificate: false } },
      enableLegacyAbac: false,
    });
  });

  it("is reached from the ranges that the configuration names", async () => {
    const { inputs } = the(await requested({ cluster: { name: "lab", releaseChannel: "STABLE", authorizedNetworks: { office: "203.0.113.0/24" } } }), "Cluster");
    expect(inputs).toMatchObject({
      name: "lab",
      releaseChannel: { channel: "STABLE" },
      privateClusterConfig: { enablePrivateEndpoint: false },
      masterAuthorizedNetworksConfig: { cidrBlocks: [{ displayName: "office", cidrBlock: "203.0.113.0/24" }] },
    });
  });
});

describe("node pools", () => {
  it("of GPUs scale from zero, take the machine that holds as many, and bring its driver", async () => {
    const made = (await pools({ h100: { kind: "gpu", accelerator: "nvidia-h100-80gb", perNode: 8, maxNodes: 4, diskGb: 200 } })).get("h100");
    expect(made).toMatchObject({
      initialNodeCount: 0,
      autoscaling: { minNodeCount: 0, maxNodeCount: 4 },
      nodeConfig: {
        machineType: "a3-highgpu-8g",
        diskSizeGb: 200,
        spot: false,
        preemptible: false,
        labels: { "marin-pool": "h100" },
        guestAccelerators: [{ type: "nvidia-h100-80gb", count: 8, gpuDriverInstallationConfig: { gpuDriverVersion: "DEFAULT" } }],
      },
    });
  });

  it("are rented as the configuration says", async () => {
    const made = await pools({
      a: { kind: "gpu", accelerator: "nvidia-l4", perNode: 1, machineType: "g2-standard-32", provisioning: "spot" },
      b: { kind: "cpu", provisioning: "preemptible", minNodes: 1, maxNodes: 2 },
    });
    expect(made.get("a")!["nodeConfig"]).toMatchObject({ machineType: "g2-standard-32", spot: true, preemptible: false });
    expect(made.get("b")).toMatchObject({ nodeConfig: { spot: false, preemptible: true }, initialNodeCount: 1, autoscaling: { minNodeCount: 1, maxNodeCount: 2 } });
  });

  it("of TPU slices of several machines are one each, whole or not at all", async () => {
    const made = await pools({ v6e: { kind: "tpu", generation: "v6e", topology: "4x4", slices: 2 } });
    expect([...made.keys()].sort()).toEqual(["system", "v6e-0", "v6e-1"]);
    for (const name of ["v6e-0", "v6e-1"]) {
      expect(made.get(name)).toMatchObject({
        placementPolicy: { type: "COMPACT", tpuTopology: "4x4" },
        autoscaling: { minNodeCount: 0, maxNodeCount: 4 },
        nodeConfig: { machineType: "ct6e-standard-4t", labels: { "marin-pool": "v6e" } },
      });
    }
  });

  it("of TPU slices of one machine share a pool, and stay when they must not scale to zero", async () => {
    const made = await pools({
      single: { kind: "tpu", generation: "v5e", topology: "2x4", machineType: "ct5lp-hightpu-8t", slices: 3 },
      fixed: { kind: "tpu", generation: "v4", topology: "2x2x4", scaleToZero: false },
    });
    expect(made.get("single")).toMatchObject({ autoscaling: { minNodeCount: 0, maxNodeCount: 3 }, nodeConfig: { machineType: "ct5lp-hightpu-8t" } });
    expect(made.get("single")).not.toHaveProperty("placementPolicy");
    expect(made.get("fixed")).toMatchObject({ nodeCount: 4, placementPolicy: { tpuTopology: "2x2x4" }, nodeConfig: { machineType: "ct4p-hightpu-4t" } });
    expect(made.get("fixed")).not.toHaveProperty("autoscaling");
  });
});
