import { afterAll, describe, expect, test } from "vitest";
import { observeGcs } from "../../test/gcs-observations.js";
import { type Peer, startFakeGcs, startMoto } from "../../test/peers.js";
import { type Observations, observeS3 } from "../../test/s3-observations.js";
import { describeStorage } from "../../test/storage-suite.js";
import { startGcsServer } from "../gcs-server/server.js";
import { startS3Server } from "../s3-server/server.js";
import { Secret } from "../secrets.js";
import { createStorage } from "./create.js";

const [moto, fakeGcs] = [await startMoto(), await startFakeGcs()];
afterAll(async () => {
  await moto?.[Symbol.asyncDispose]();
  await fakeGcs?.[Symbol.asyncDispose]();
});

/** How many answers are equal, and which are not. */
function compared(peer: Peer, own: Observations, theirs: Observations): readonly string[] {
  const differing = Object.keys(own).filter((name) => JSON.stringify(own[name]) !== JSON.stringify(theirs[name]));
  console.log(`compared with ${peer.name}: ${String(Object.keys(own).length)} answers, ${String(Object.keys(own).length - differing.length)} equal${differing.map((name) => `\n  ${name}: ${JSON.stringify([own[name], theirs[name]])}`).join("")}`);
  return differing;
}

describe("moto", () => {
  if (moto === undefined) return test("cannot be had here: nothing was compared", () => console.log("moto was not compared: it needs python3 and PyPI"));
  test("our S3 server answers like it", async () => {
    await using ours = await startS3Server({ buckets: ["bucket"] });
    // It answers 500 for an upload that is not there.
    expect(compared(moto, await observeS3(ours.endpoint), await observeS3(moto.endpoint))).toEqual(["end what was given up"]);
  });
  const storage = createStorage({ s3: { endpoint: moto.endpoint, credentials: { accessKeyId: "test", secretAccessKey: new Secret("moto", "test-secret") } } });
  describeStorage("moto", () => ({ storage, base: "s3://bucket/suite" }), { renames: "refused" });
});

describe("fake-gcs-server", () => {
  if (fakeGcs === undefined) return test("cannot be had here: nothing was compared", () => console.log("fake-gcs-server was not compared: it needs Go and its module proxy"));
  test("our server of Google's protocol answers like it", async () => {
    await using ours = await startGcsServer({ buckets: ["bucket"] });
    // Google's documentation has 204 without a body for a deletion, and an empty body where an upload begins.
    expect(compared(fakeGcs, await observeGcs(ours.endpoint), await observeGcs(fakeGcs.endpoint))).toEqual(["begin an upload in pieces", "delete"]);
  });
  const storage = createStorage({ gcs: { endpoint: fakeGcs.endpoint } });
  // It knows no moveTo, and passes over conditions on copies.
  describeStorage("fake-gcs-server", () => ({ storage, base: "gs://bucket/suite" }), { renames: "unknown", conditionalCopies: false });
});
