import { maskCredentialForms, namesSecret } from "./credential-patterns.js";
import { secretForms } from "./forms.js";

/** The most values that are kept; the oldest go first. A process that renews its tokens for years meets it. */
const maxValues = 10_000;

/**
 * Masks secrets in text that people or files get to see: the values it was told of, in any form of {@link secretForms}, and what looks like a
 * credential. Values shorter than 4 characters are not masked, since any text holds them.
 */
export class Redactor {
  /** The forms of each value, in the order in which the values came. */
  readonly #known = new Map<string, readonly (readonly [form: string, mask: string])[]>();
  /** All forms, longest first. */
  #forms: readonly (readonly [form: string, mask: string])[] | undefined = [];

  /**
   * From now on the value is masked as "[secret NAME]".
   *
   * @param value - the secret itself
   * @param name - what it is called
   */
  add(value: string, name: string): void {
    if (value === "" || this.#known.has(value)) return;
    const [oldest] = this.#known.keys();
    if (this.#known.size >= maxValues && oldest !== undefined) this.#known.delete(oldest);
    this.#known.set(value, secretForms(value).map((form) => [form, `[secret ${name}]`]));
    this.#forms = undefined;
  }

  /**
   * Takes the values of all variables whose names say that they hold secrets: those that end in TOKEN, SECRET, PASSWORD, API_KEY and the like, and
   * MARIN_SECRET_*. Those that name a file or hold a reference (`env:`, `file:`, `gcp-secret:`) are left out.
   *
   * @param env - of this process, or of one that it starts
   */
  addEnvironment(env: Readonly<Record<string, string | undefined>>): void {
    for (const [name, value] of Object.entries(env)) {
      if (value === undefined || name.endsWith("_FILE") || !(namesSecret(name) || name.startsWith("MARIN_SECRET_"))) continue;
      if (!/^(env|file|gcp-secret):/.test(value)) this.add(value, name);
    }
  }

  /** The text without secrets. */
  redact(text: string): string {
    let masked = text;
    for (const [form, mask] of this.#allForms()) {
      if (masked.includes(form)) masked = masked.replaceAll(form, () => mask);
    }
    return maskCredentialForms(masked);
  }

  #allForms(): readonly (readonly [string, string])[] {
    this.#forms ??= [...this.#known.values()].flat().sort(([a], [b]) => b.length - a.length);
    return this.#forms;
  }
}

const shared: unique symbol = Symbol.for("marin.redactor");
const holder = globalThis as { [shared]?: Redactor };

/**
 * This process's redactor: it knows every {@link Secret} that was made here. Loggers, telemetry and commands use it. Copies of this package
 * share one.
 */
export const redactor: Redactor = (holder[shared] ??= new Redactor());
