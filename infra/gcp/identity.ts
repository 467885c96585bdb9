import * as projects from "@pulumi/gcp/projects/index.js";
import * as serviceaccount from "@pulumi/gcp/serviceaccount/index.js";
import * as storage from "@pulumi/gcp/storage/index.js";
import type * as container from "@pulumi/gcp/container/index.js";
import { interpolate } from "@pulumi/pulumi";
import type { CloudConfig } from "./config.js";

/**
 * The identity of the machines: what GKE needs to run a node (logs, metrics, image metadata), and nothing else. Tasks do not have it: the
 * nodes' metadata server answers them with their own.
 *
 * Role: "Harden your cluster's security", https://cloud.google.com/kubernetes-engine/docs/how-to/hardening-your-cluster.
 */
export function createNodeIdentity({ cluster, project }: CloudConfig): serviceaccount.Account {
  const account = new serviceaccount.Account(`${cluster.name}-nodes`, {
    accountId: `${cluster.name}-nodes`,
    project,
    displayName: `Machines of the cluster ${cluster.name}`,
  });
  new projects.IAMMember(`${cluster.name}-nodes`, { project, role: "roles/container.defaultNodeServiceAccount", member: account.member });
  return account;
}

/**
 * The identity of tasks: objects of one bucket, to read, write and delete. It has no key. The cluster's Kubernetes service account of the
 * configured namespace and name acts as it through workload identity, and no other account does.
 */
export function createTaskIdentity({ cluster, project }: CloudConfig, bucket: storage.Bucket, { workloadIdentityConfig }: container.Cluster): serviceaccount.Account {
  const account = new serviceaccount.Account(`${cluster.name}-tasks`, {
    accountId: `${cluster.name}-tasks`,
    project,
    displayName: `Tasks of the cluster ${cluster.name}`,
  });
  new storage.BucketIAMMember(`${cluster.name}-tasks`, { bucket: bucket.name, role: "roles/storage.objectUser", member: account.member });
  new serviceaccount.IAMMember(`${cluster.name}-tasks`, {
    serviceAccountId: account.name,
    role: "roles/iam.workloadIdentityUser",
    // The cluster's own answer, so that the binding waits for the pool of identities that the cluster brings.
    member: interpolate`serviceAccount:${workloadIdentityConfig.workloadPool}[${cluster.namespace}/${cluster.serviceAccount}]`,
  });
  return account;
}
