import * as storage from "@pulumi/gcp/storage/index.js";
import type { CloudConfig } from "./config.js";

const secondsPerDay = 86_400;

/**
 * The bucket that holds artifacts, data and checkpoints. No object in it can be made public, access is given to the bucket as a whole, and an
 * upload that nobody finished is dropped after a week.
 */
export function createBucket({ bucket, region, project, deletionProtection }: CloudConfig): storage.Bucket {
  return new storage.Bucket(
    bucket.name,
    {
      name: bucket.name,
      project,
      location: region.toUpperCase(),
      uniformBucketLevelAccess: true,
      publicAccessPrevention: "enforced",
      forceDestroy: false,
      softDeletePolicy: { retentionDurationSeconds: bucket.softDeleteDays * secondsPerDay },
      lifecycleRules: [{ action: { type: "AbortIncompleteMultipartUpload" }, condition: { age: 7 } }],
    },
    { protect: deletionProtection },
  );
}
