import { MarinError } from "@marin/iris";

/** How often permanent checkpoints are made, up to some step. */
export interface PermanentPolicy {
  /** Steps between checkpoints, at least 1: those whose number it divides. */
  readonly every: number;
  /** The last step that the policy speaks for. Default: all that follow; the last policy alone may leave it out. */
  readonly until?: number | undefined;
}

/** What a decision to save depends on. */
export interface SaveSituation {
  /** The step just finished. */
  readonly step: number;
  /** The step saved last, 0 for none. */
  readonly savedStep: number;
  /** Seconds since the last save, or since the start. */
  readonly elapsedSeconds: number;
  /** Whether someone asked for a checkpoint. */
  readonly requested: boolean;
  /** Whether this is the end of the run. */
  readonly forced: boolean;
}

/** How long a checkpoint stays. */
export type SaveKind = "permanent" | "temporary";

/**
 * Whether a step is saved, and for how long: permanently at the end and where the first policy with `until` at or after the step divides it; until the
 * next one when asked for, or when `saveIntervalSeconds` (0: never) have passed. Never at step 0, and not twice at one step unless at the end.
 */
export function decideSave(policies: readonly PermanentPolicy[], saveIntervalSeconds: number, situation: SaveSituation): SaveKind | undefined {
  const { step, savedStep, elapsedSeconds, requested, forced } = situation;
  if (step === 0) return undefined;
  if (forced) return "permanent";
  if (step === savedStep) return undefined;
  const every = policies.find(({ until = Infinity }) => until >= step)?.every;
  if (every !== undefined && step % every === 0) return "permanent";
  return requested || (saveIntervalSeconds > 0 && elapsedSeconds >= saveIntervalSeconds) ? "temporary" : undefined;
}

/** Refuses policies that don't follow each other. Throws `LEVANTER_CONFIG` naming the one that is wrong. */
export function requirePolicies(policies: readonly PermanentPolicy[]): void {
  policies.forEach(({ every, until }, i) => {
    const refuse = (problem: string): never => {
      throw new MarinError("LEVANTER_CONFIG", `policy ${String(i + 1)} of permanent checkpoints: ${problem}`, { data: { policies } });
    };
    if (!Number.isInteger(every) || every < 1) refuse(`every must be a whole number of steps, at least 1, not ${String(every)}`);
    const before = policies[i - 1]?.until ?? 0;
    if (until === undefined && i < policies.length - 1) refuse("only the last one may lack until");
    if (until !== undefined && !(Number.isInteger(until) && until > before)) refuse(`until must be a step after ${String(before)}, not ${String(until)}`);
  });
}
