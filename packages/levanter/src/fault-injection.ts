import { existsSync } from "node:fs";
import { mkdir, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/iris";

/** The variable that lists the steps that fail: `7`, `3,7` or `[3, 7]`. */
export const FAULT_STEPS = "MARIN_FAULT_INJECTION_STEPS";
/** The variable that lists the steps whose loss is made NaN, written alike. */
export const FAULT_NAN_STEPS = "MARIN_FAULT_INJECTION_NAN_STEPS";

/**
 * Failures on request, to test what resumes a run. Each listed step fails once: a marker file in the run's directory, written before, keeps it from
 * failing again when the run has been resumed. A run that reaches its end removes the markers.
 */
export class FaultInjection {
  readonly #directory: string;
  readonly #failing: ReadonlySet<number>;
  readonly #notFinite: ReadonlySet<number>;

  /**
   * The failures that the environment asks for. Throws `LEVANTER_CONFIG` naming a variable that lists no steps.
   *
   * @param run - the run's directory
   */
  constructor(environment: Readonly<Record<string, string | undefined>>, run: string) {
    this.#directory = join(run, ".faults");
    this.#failing = stepsIn(environment, FAULT_STEPS);
    this.#notFinite = stepsIn(environment, FAULT_NAN_STEPS);
  }

  /** Fails before a step (from 1) that is listed, once. Throws `LEVANTER_FAULT_INJECTED`. */
  async beforeStep(step: number): Promise<void> {
    if (!this.#failing.has(step) || !(await this.#fires(`step-${String(step)}`))) return;
    throw new MarinError("LEVANTER_FAULT_INJECTED", `step ${String(step)} fails because ${FAULT_STEPS} asks for it; start the run again to go on, it will not fail twice`, { data: { step } });
  }

  /** True, once, for a step (from 1) whose loss is to be NaN. */
  async makesNotFinite(step: number): Promise<boolean> {
    return this.#notFinite.has(step) && this.#fires(`nan-${String(step)}`);
  }

  /** Forgets what has failed: the run is at its end. */
  async finish(): Promise<void> {
    if (this.#failing.size + this.#notFinite.size > 0) await rm(this.#directory, { recursive: true, force: true });
  }

  async #fires(name: string): Promise<boolean> {
    const marker = join(this.#directory, name);
    if (existsSync(marker)) return false;
    await mkdir(this.#directory, { recursive: true });
    await writeFile(marker, "");
    return true;
  }
}

function stepsIn(environment: Readonly<Record<string, string | undefined>>, variable: string): ReadonlySet<number> {
  const text = environment[variable]?.trim() ?? "";
  if (text === "") return new Set();
  const steps = /^\[.*\]$/s.test(text) ? text.slice(1, -1).split(",") : text.split(",");
  const numbers = steps.map((step) => (/^\s*[1-9]\d*\s*$/.test(step) ? Number(step) : Number.NaN));
  if (numbers.some(Number.isNaN)) {
    throw new MarinError("LEVANTER_CONFIG", `${variable} must list steps, from 1: 7, or 3,7, or [3, 7]; it is "${text}"`, { data: { variable, value: text } });
  }
  return new Set(numbers);
}
