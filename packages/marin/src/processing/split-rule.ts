import { createHash } from "node:crypto";
import { MarinError } from "@marin/rigging";

/** The two parts of a corpus. */
export type Split = "train" | "validation";

/** Which documents are kept for validation. */
export interface SplitRule {
  /** Share of the documents kept for validation, above 0 and below 1. */
  readonly validationFraction: number;
  /** Any text; another one gives another split of the same documents. */
  readonly salt: string;
}

/**
 * The part a document belongs to. It depends on the document's id and the rule alone, so adding documents moves none.
 *
 * The first 48 bits of SHA-256(salt, 0, id) are read as a fraction of 2^48; below `validationFraction` means validation.
 */
export function splitOf(id: string, { validationFraction, salt }: SplitRule): Split {
  const digest = createHash("sha256").update(`${salt}\0${id}`, "utf8").digest();
  return digest.readUIntBE(0, 6) / 2 ** 48 < validationFraction ? "validation" : "train";
}

/** @throws MarinError MARIN_SPLIT_FRACTION for a fraction that is not between 0 and 1 */
export function checkSplitRule(rule: SplitRule): void {
  if (rule.validationFraction > 0 && rule.validationFraction < 1) return;
  throw new MarinError("MARIN_SPLIT_FRACTION", `validationFraction must be above 0 and below 1, found ${String(rule.validationFraction)}.`, { data: { ...rule } });
}
