import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";

import { canonicalJson, type Artifact as StoredArtifact, type RunProvenance, type Store } from "@marin/finestore";
import { isMarinError, MarinError, type ProcessIdentity } from "@marin/rigging";

import type { PlannedStep } from "./plan.js";
import type { Artifact, StepContext } from "./step.js";

/** The file in which an artifact keeps what its step returned. */
const RESULT_FILE = "result.json";

/** One step to be run. */
export interface StepWork {
  readonly planned: PlannedStep;
  readonly store: Store;
  /** The input artifacts, by input name. */
  readonly inputs: Readonly<Record<string, Artifact<unknown>>>;
  readonly workingDirectory: string;
  /** Whether to make the artifact anew although the store has it. */
  readonly replace: boolean;
  readonly provenance: RunProvenance;
  /** The command's process, where this is another one. */
  readonly onBehalfOf?: ProcessIdentity | undefined;
}

/** What a running step tells. */
export type StepReports = Pick<StepContext<unknown>, "progress" | "metrics" | "log" | "signal">;

/**
 * Runs a step in this process and puts what it leaves into the store.
 *
 * @throws what the step throws; `MARIN_STEP_RESULT` when it returns what JSON has no form for; finestore's errors
 */
export async function produceStep(work: StepWork, reports: StepReports): Promise<StoredArtifact> {
  const { planned, store, inputs, workingDirectory, replace, provenance, onBehalfOf } = work;
  const { definition, config } = planned.step;
  const description = {
    version: planned.parts.version,
    config: planned.parts.config,
    inputs: Object.fromEntries(Object.entries(inputs).map(([role, { record }]) => [role, { name: record.name, fingerprint: record.fingerprint, digest: record.digest }])),
    resumable: definition.resumable ?? false,
    runRecords: definition.runRecords ?? [],
    replace,
    provenance,
    onBehalfOf,
  };
  return store.produce(definition.name, planned.fingerprint, description, async (directory) => {
    const result = await definition.run({ config, inputs, directory, workingDirectory, ...reports });
    await writeFile(join(directory, RESULT_FILE), resultText(result));
  });
}

/** An artifact as steps and users see it: with its step's result. */
export async function readArtifact(step: string, { directory, record }: StoredArtifact): Promise<Artifact<unknown>> {
  const result: unknown = JSON.parse(await readFile(join(directory, RESULT_FILE), "utf8"));
  return { step, fingerprint: record.fingerprint, directory, record, result };
}

/** JSON has no form for maps, dates, NaN: what would come back as something else is refused. */
function resultText(result: unknown): string {
  try {
    canonicalJson(result ?? null);
  } catch (cause) {
    if (!isMarinError(cause)) throw cause;
    throw new MarinError("MARIN_STEP_RESULT", `what the step returns is kept as JSON: ${cause.message}`, { data: cause.data, cause });
  }
  return `${JSON.stringify(result ?? null)}\n`;
}
