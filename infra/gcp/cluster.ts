import * as container from "@pulumi/gcp/container/index.js";
import type * as serviceaccount from "@pulumi/gcp/serviceaccount/index.js";
import type { CloudConfig } from "./config.js";
import type { ClusterNetwork } from "./network.js";

/**
 * The cluster without machines; `node-pools.ts` adds them. Its control plane can be reached from the configured ranges, or, when there are none,
 * only from within the network.
 *
 * @param nodes - identity of the pool that GKE makes and removes while it creates the cluster
 */
export function createCluster({ cluster, zone, project, deletionProtection }: CloudConfig, { network, subnetwork, ranges }: ClusterNetwork, nodes: serviceaccount.Account): container.Cluster {
  const authorized = Object.entries(cluster.authorizedNetworks);
  return new container.Cluster(
    cluster.name,
    {
      name: cluster.name,
      project,
      location: zone,
      deletionProtection,
      network: network.id,
      subnetwork: subnetwork.id,
      networkingMode: "VPC_NATIVE",
      ipAllocationPolicy: { clusterSecondaryRangeName: ranges.pods, servicesSecondaryRangeName: ranges.services },
      // Network policies by the built-in data plane.
      datapathProvider: "ADVANCED_DATAPATH",
      privateClusterConfig: { enablePrivateNodes: true, enablePrivateEndpoint: authorized.length === 0, masterIpv4CidrBlock: "172.16.0.0/28" },
      masterAuthorizedNetworksConfig: {
        gcpPublicCidrsAccessEnabled: false,
        cidrBlocks: authorized.map(([displayName, cidrBlock]) => ({ displayName, cidrBlock })),
      },
      masterAuth: { clientCertificateConfig: { issueClientCertificate: false } },
      enableLegacyAbac: false,
      enableShieldedNodes: true,
      workloadIdentityConfig: { workloadPool: `${project}.svc.id.goog` },
      releaseChannel: { channel: cluster.releaseChannel },
      // GKE cannot make a cluster without a pool: it makes one, and removes it.
      removeDefaultNodePool: true,
      initialNodeCount: 1,
      nodeConfig: { serviceAccount: nodes.email, shieldedInstanceConfig: { enableSecureBoot: true } },
    },
    { protect: deletionProtection, ignoreChanges: ["nodeConfig"] },
  );
}
