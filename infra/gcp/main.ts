/** The Pulumi program: reads `marin:cloud` of the stack's file, and makes what it says. Its exports are the stack's outputs. */
import { Config } from "@pulumi/pulumi";
import { createCloud } from "./cloud.js";
import { parseCloudConfig } from "./config.js";

export const { bucketUrl, clusterName, taskIdentity, nodePools, nextSteps } = createCloud(parseCloudConfig(new Config("marin").requireObject("cloud")));
