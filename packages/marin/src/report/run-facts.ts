import { readFile } from "node:fs/promises";
import { arch, cpus, hostname, platform, totalmem } from "node:os";
import { join } from "node:path";

import type { Provenance } from "@marin/finestore";

import type { ReportArtifacts } from "./inputs.js";
import type { NamedLineageEntry } from "./lineage.js";

/** Speed at one step of the training. */
export interface ThroughputPoint {
  readonly step: number;
  readonly tokensPerSecond: number;
}

/** What differs from run to run: times, machines, people. Shown on the page, no part of the report's facts. */
export interface RunFacts {
  /** How each artifact of the lineage came about, inputs first. */
  readonly artifacts: readonly { readonly step: string; readonly fingerprint: string; readonly provenance: Provenance }[];
  readonly throughput: readonly ThroughputPoint[];
  /** The machine that made the page. */
  readonly machine: { readonly host: string; readonly system: string; readonly processor: string; readonly cores: number; readonly memoryBytes: number; readonly node: string };
}

/** Gathers what is known of the runs that made the artifacts. */
export async function collectRunFacts({ train }: ReportArtifacts, lineage: readonly NamedLineageEntry[]): Promise<RunFacts> {
  const processors = cpus();
  return {
    artifacts: lineage.flatMap(({ step, fingerprint, artifact }) => (artifact === undefined ? [] : [{ step, fingerprint, provenance: artifact.record.provenance }])),
    throughput: train === undefined ? [] : await readThroughput(join(train.directory, "metrics.jsonl")),
    machine: {
      host: hostname(),
      system: `${platform()}-${arch()}`,
      processor: processors[0]?.model.trim() ?? "",
      cores: processors.length,
      memoryBytes: totalmem(),
      node: process.version,
    },
  };
}

/** Run records are not checked against digests: what cannot be read is passed over. */
async function readThroughput(path: string): Promise<ThroughputPoint[]> {
  const text = await readFile(path, "utf8").catch(() => "");
  return text.split("\n").flatMap((line) => {
    try {
      const { step, tokensPerSecond } = JSON.parse(line) as Partial<ThroughputPoint>;
      return typeof step === "number" && typeof tokensPerSecond === "number" ? [{ step, tokensPerSecond }] : [];
    } catch {
      return [];
    }
  });
}
