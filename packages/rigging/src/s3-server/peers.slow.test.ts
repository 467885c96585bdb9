import { expect, test } from "vitest";
import { startS3rver } from "../../test/peers.js";
import { observeS3 } from "../../test/s3-observations.js";
import { startS3Server } from "./server.js";

/** s3rver ends itself when it is asked so. */
const without = ["end with a part that is not there", "end what was given up", "give an upload up"];

/** Where s3rver is known not to answer as Amazon's servers do: no conditions, a suffix one byte too long, no pages, its own ETags of uploads. What follows from the first. */
const known = [
  ...["read if it matches, and it does not", "write if nothing is there, and something is", "write if it matches, and it does not", "copy", "a name in need of escapes"],
  ...["suffix range", "list, first page", "list, second page", "end an upload", "what an upload made"],
];

test("the S3 server answers like s3rver, where s3rver answers like Amazon's", async () => {
  await using peer = await startS3rver();
  await using ours = await startS3Server({ buckets: ["bucket"] });
  const [theirs, own] = [await observeS3(peer.endpoint, without), await observeS3(ours.endpoint, without)];
  const differing = Object.keys(own).filter((name) => JSON.stringify(own[name]) !== JSON.stringify(theirs[name]));
  console.log(`compared with ${peer.name}: ${String(Object.keys(own).length)} answers, ${String(Object.keys(own).length - differing.length)} equal`);
  expect(differing.filter((name) => !known.includes(name))).toEqual([]);
});
