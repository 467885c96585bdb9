import { interpolate, type Output } from "@pulumi/pulumi";
import { createBucket } from "./bucket.js";
import { createCluster } from "./cluster.js";
import type { CloudConfig } from "./config.js";
import { createNodeIdentity, createTaskIdentity } from "./identity.js";
import { createNetwork } from "./network.js";
import { createNodePools } from "./node-pools.js";

/** What a stack tells after `pulumi up`. */
export interface CloudOutputs {
  /** The bucket as the prefix of an experiment's store: `gs://<name>`. */
  readonly bucketUrl: Output<string>;
  /** The cluster's name. */
  readonly clusterName: Output<string>;
  /** The Google identity of tasks, an e-mail address. */
  readonly taskIdentity: Output<string>;
  /** Names of the node pools, the cluster's own first. */
  readonly nodePools: Output<string>[];
  /** Commands that fetch the cluster's credentials and let the tasks' Kubernetes account act as {@link taskIdentity}: run them once, in order. */
  readonly nextSteps: Output<string>[];
}

/** Everything of one stack: network, bucket, identities, cluster, node pools. */
export function createCloud(config: CloudConfig): CloudOutputs {
  const { cluster: names, project, zone } = config;
  const nodes = createNodeIdentity(config);
  const bucket = createBucket(config);
  const cluster = createCluster(config, createNetwork(config), nodes);
  const tasks = createTaskIdentity(config, bucket, cluster);
  const pools = createNodePools(config, cluster, nodes);
  return {
    bucketUrl: bucket.url,
    clusterName: cluster.name,
    taskIdentity: tasks.email,
    nodePools: pools.map((pool) => pool.name),
    nextSteps: [
      interpolate`gcloud container clusters get-credentials ${cluster.name} --location ${zone} --project ${project}`,
      interpolate`kubectl create namespace ${names.namespace}`,
      interpolate`kubectl create serviceaccount ${names.serviceAccount} --namespace ${names.namespace}`,
      interpolate`kubectl annotate serviceaccount ${names.serviceAccount} --namespace ${names.namespace} iam.gke.io/gcp-service-account=${tasks.email}`,
    ],
  };
}
