import * as compute from "@pulumi/gcp/compute/index.js";
import type { CloudConfig } from "./config.js";

/** The network that the cluster stands in. */
export interface ClusterNetwork {
  readonly network: compute.Network;
  readonly subnetwork: compute.Subnetwork;
  /** Names of the subnetwork's ranges for pods and services. */
  readonly ranges: { readonly pods: string; readonly services: string };
}

/**
 * A network of its own. Nodes have no public address: they reach Google's services privately, and everything else through one outgoing
 * gateway, which nobody can come in through.
 *
 * Addresses: nodes 10.0.0.0/20 (4,094), pods 10.4.0.0/14 (262,142), services 10.8.0.0/20.
 */
export function createNetwork({ cluster, region, project }: CloudConfig): ClusterNetwork {
  const ranges = { pods: "pods", services: "services" };
  const network = new compute.Network(cluster.name, { name: cluster.name, project, autoCreateSubnetworks: false });
  const subnetwork = new compute.Subnetwork(cluster.name, {
    name: cluster.name,
    project,
    region,
    network: network.id,
    ipCidrRange: "10.0.0.0/20",
    privateIpGoogleAccess: true,
    secondaryIpRanges: [
      { rangeName: ranges.pods, ipCidrRange: "10.4.0.0/14" },
      { rangeName: ranges.services, ipCidrRange: "10.8.0.0/20" },
    ],
  });
  const router = new compute.Router(cluster.name, { name: cluster.name, project, region, network: network.id });
  new compute.RouterNat(cluster.name, {
    name: cluster.name,
    project,
    region,
    router: router.name,
    natIpAllocateOption: "AUTO_ONLY",
    sourceSubnetworkIpRangesToNat: "LIST_OF_SUBNETWORKS",
    subnetworks: [{ name: subnetwork.id, sourceIpRangesToNats: ["ALL_IP_RANGES"] }],
  });
  return { network, subnetwork, ranges };
}
