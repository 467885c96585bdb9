import type { Artifact as StoredArtifact, Store } from "@marin/finestore";

import type { PlannedStep } from "./plan.js";

/** What is known of a step's input. */
export interface InputState {
  /** Name of the input step. */
  readonly step: string;
  /** The artifact; undefined when the step is yet to run. */
  readonly artifact: StoredArtifact | undefined;
  /** Whether the step ran in this run, or would; undefined for one that is cached. */
  readonly runs: "ran" | "would run" | undefined;
}

/** What is to become of a step, and why. */
export type Verdict =
  | { readonly action: "cached"; readonly artifact: StoredArtifact; readonly reason: string }
  | {
      readonly action: "run";
      /** Whether the artifact is there and is to be made anew. */
      readonly replace: boolean;
      /** Whether an interrupted attempt is gone on from. */
      readonly resume: boolean;
      readonly reason: string;
    };

/**
 * Decides whether a step has to run. The store's artifact serves when it was made from the very content that the inputs now have.
 *
 * @throws MarinError `FINESTORE_CORRUPT` when the artifact is damaged
 */
export async function judgeStep(store: Store | undefined, { step, fingerprint }: PlannedStep, inputs: Readonly<Record<string, InputState>>, forced: boolean): Promise<Verdict> {
  const { name, resumable = false } = step.definition;
  const present = await store?.get(name, fingerprint);
  const resume = resumable && ((await store?.hasAttempt(name, fingerprint)) ?? false);
  if (forced) return { action: "run", replace: present !== undefined, resume, reason: "forced" };
  if (present === undefined || store === undefined) {
    const running = Object.values(inputs).filter(({ runs }) => runs !== undefined);
    if (running.length > 0) return { action: "run", replace: false, resume, reason: `input ${[...new Set(running.map((input) => input.step))].join(", ")} ${running[0]?.runs ?? ""}` };
    return { action: "run", replace: false, resume, reason: resume ? "no artifact, but an interrupted attempt to go on from" : "no artifact" };
  }
  for (const [role, { step: input, artifact }] of Object.entries(inputs)) {
    if (artifact !== undefined && artifact.record.digest !== present.record.inputs[role]?.digest) {
      return { action: "run", replace: true, resume, reason: `input ${input} has other content than before` };
    }
  }
  await store.verify(present);
  const open = Object.values(inputs).filter(({ artifact }) => artifact === undefined).map((input) => input.step);
  const reason = open.length === 0 ? "in the store" : `in the store; runs only if ${open.join(", ")} comes out different`;
  return { action: "cached", artifact: present, reason };
}
