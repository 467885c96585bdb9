/** Packages of npm beside dupekit: minhash for signatures, bloom-filters for sets, hash-wasm and node:crypto for hashes. */
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { parseArgs } from "node:util";

const { values } = parseArgs({ options: { work: { type: "string" }, documents: { type: "string" }, rounds: { type: "string" }, threads: { type: "string" } } });
const documents = JSON.parse(readFileSync(values.documents, "utf8"));

const WORKS = {
  "minhash-32": async () => {
    const { Minhash } = (await import("minhash")).default;
    return () => {
      for (const text of documents) {
        const words = text.toLowerCase().replace(/[\p{P}\p{S}]/gu, "").split(/\s+/u).filter((word) => word !== "");
        const minhash = new Minhash({ numPerm: 128 });
        for (let start = 0; start + 5 <= words.length; start += 1) minhash.update(words.slice(start, start + 5).join(" "));
      }
    };
  },
  "hash-documents-xxh3-64": async () => hashing((await (await import("hash-wasm")).createXXHash3())),
  "hash-documents-xxh3-128": async () => hashing((await (await import("hash-wasm")).createXXHash128())),
  "hash-documents-blake3": async () => hashing((await (await import("hash-wasm")).createBLAKE3())),
  "hash-documents-sha256": async () => () => {
    for (const text of documents) createHash("sha256").update(text, "utf8").digest();
  },
};

function hashing(hasher) {
  return () => {
    for (const text of documents) hasher.init().update(text).digest("binary");
  };
}

const work = await WORKS[values.work]();
work();
const seconds = [];
for (let round = 0; round < Number(values.rounds); round += 1) {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  seconds.push((user + system) / 1e6);
}
process.stdout.write(`${JSON.stringify({ version: `npm, ${values.work}`, seconds, peakBytes: process.resourceUsage().maxRSS * 1024 })}\n`);
