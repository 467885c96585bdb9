import { inspect } from "node:util";
import { MarinError } from "@marin/ducky";
import type { TokenProvider } from "./auth/token-provider.js";
import type { Logger } from "./log.js";
import { redactor } from "./redaction/redactor.js";
import { type GcpSecretOptions, readGcpSecret } from "./secrets/gcp-secret.js";
import { type SecretSource, isSecretName, parseSecretReference, referenceForms } from "./secrets/reference.js";
import { readSecretFile } from "./secrets/secret-file.js";

/**
 * A secret value that does not show itself: printing, logging, string conversion and JSON all give "[secret NAME]".
 * Only {@link Secret.reveal} returns the value, and this process's {@link redactor} masks it wherever it turns up afterwards.
 */
export class Secret {
  /** The name it was asked for by. */
  readonly name: string;
  readonly #value: string;

  /**
   * @param name - what the secret is called
   * @param value - the secret itself
   */
  constructor(name: string, value: string) {
    this.name = name;
    this.#value = value;
    redactor.add(value, name);
  }

  /** The value. Call it where the value is handed to the service that needs it, and nowhere else. */
  reveal(): string {
    return this.#value;
  }

  /** "[secret NAME]". */
  toString(): string {
    return `[secret ${this.name}]`;
  }

  /** "[secret NAME]". */
  toJSON(): string {
    return this.toString();
  }

  [inspect.custom](): string {
    return this.toString();
  }
}

/** Where a {@link SecretStore} looks. */
export interface SecretStoreOptions {
  /** Environment variables. Default: the process's own. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** How `gcp-secret:` references are read. */
  readonly gcp?: GcpSecretOptions;
  /** Told, at level debug, by which scheme a secret came, and no more. Default: nobody. */
  readonly log?: Logger;
}

/**
 * Secrets by name or by reference, never by value.
 *
 * The secret named "openai_api_key" is the value of the environment variable MARIN_SECRET_OPENAI_API_KEY, or the content of the file that
 * MARIN_SECRET_OPENAI_API_KEY_FILE names. References say where the value is: "env:HF_TOKEN", "file:/run/secrets/hf" or
 * "gcp-secret://projects/p/secrets/s/versions/3". One trailing line end of a file is dropped.
 */
export class SecretStore {
  readonly #env: Readonly<Record<string, string | undefined>>;
  readonly #gcp: GcpSecretOptions;
  readonly #log: Logger | undefined;
  /** Versions of a secret never change, so each is read once. */
  readonly #versions = new Map<string, Promise<string | undefined>>();
  #tokens: Promise<TokenProvider> | undefined;

  /** @param options - where to look */
  constructor(options: SecretStoreOptions = {}) {
    this.#env = options.env ?? process.env;
    this.#gcp = options.gcp ?? {};
    this.#log = options.log;
  }

  /**
   * The secret of that name, or the first of those references that is there. A source that is absent (no such variable, file or version) leaves it to
   * the next; one that is broken (unreadable, empty, no permission) is an error, so that a fault never silently selects another secret. No error of
   * this method holds a value.
   *
   * @param source - a name (letters, digits, "_" and "-", not case-sensitive), a reference, or several references in the order of their preference
   * @param options - `signal` ends a request to a server
   * @throws MarinError RIGGING_BAD_SECRET_NAME, RIGGING_BAD_SECRET_REFERENCE, RIGGING_SECRET_UNPINNED, RIGGING_SECRET_MISSING (nothing is there),
   * RIGGING_SECRET_AMBIGUOUS (a name's two variables are set), RIGGING_SECRET_EMPTY, RIGGING_SECRET_UNREADABLE, RIGGING_NO_CREDENTIALS
   */
  async get(source: string | readonly string[], { signal }: { readonly signal?: AbortSignal } = {}): Promise<Secret> {
    if (typeof source === "string" && !/^[a-z-]+:/.test(source)) return this.#byName(source);
    const references = typeof source === "string" ? [source] : source;
    // All are checked before the first is read: a literal must not hide behind a reference that usually is there.
    const sources = references.map(parseSecretReference);
    for (const [index, one] of sources.entries()) {
      const name = references[index] ?? "";
      const value = await this.#read(one, name, signal);
      if (value === undefined) continue;
      if (value === "") throw new MarinError("RIGGING_SECRET_EMPTY", `The secret at ${name} is empty.`, { data: { scheme: one.scheme } });
      this.#log?.debug("secret read", { scheme: one.scheme });
      return new Secret(name, value);
    }
    const places = references.length === 0 ? "no reference was given" : `nothing is at ${references.join(", nor at ")}`;
    throw new MarinError("RIGGING_SECRET_MISSING", `A secret is not set: ${places}.`, { data: { schemes: sources.map(({ scheme }) => scheme) } });
  }

  async #read(source: SecretSource, reference: string, signal: AbortSignal | undefined): Promise<string | undefined> {
    if (source.scheme === "env") return this.#env[source.variable];
    if (source.scheme === "file") return await readSecretFile(source.path);
    const known = this.#versions.get(reference);
    if (known !== undefined) return await known;
    const reading = this.#gcpTokens().then((tokens) => readGcpSecret(source, tokens, this.#gcp, signal));
    this.#versions.set(reference, reading);
    const value = await reading.catch((error: unknown) => {
      this.#versions.delete(reference);
      throw error;
    });
    if (value === undefined) this.#versions.delete(reference);
    return value;
  }

  #gcpTokens(): Promise<TokenProvider> {
    this.#tokens ??= this.#gcp.tokens === undefined ? import("./auth/google-tokens.js").then(({ googleTokens }) => googleTokens()) : Promise.resolve(this.#gcp.tokens);
    return this.#tokens;
  }

  async #byName(name: string): Promise<Secret> {
    if (!isSecretName(name)) {
      throw new MarinError("RIGGING_BAD_SECRET_NAME", `This cannot name a secret: use letters, digits, "_" and "-", or a reference such as ${referenceForms}. A secret's value itself is never written here.`);
    }
    const variable = `MARIN_SECRET_${name.toUpperCase().replaceAll("-", "_")}`;
    const fileVariable = `${variable}_FILE`;
    const direct = this.#env[variable];
    const path = this.#env[fileVariable];
    const data = { name, variable, fileVariable };
    if (direct !== undefined && path !== undefined) {
      throw new MarinError("RIGGING_SECRET_AMBIGUOUS", `Secret "${name}" is given twice, by ${variable} and by ${fileVariable}: unset one.`, { data });
    }
    if (direct === undefined && path === undefined) {
      throw new MarinError("RIGGING_SECRET_MISSING", `Secret "${name}" is not set: set ${variable}, or ${fileVariable} to a file that holds it.`, { data });
    }
    const value = direct ?? (await readSecretFile(path ?? ""));
    if (value === undefined) {
      throw new MarinError("RIGGING_SECRET_UNREADABLE", `Secret "${name}": the file that ${fileVariable} names is not there: ${path ?? ""}.`, { data: { ...data, path } });
    }
    if (value === "") {
      const where = direct === undefined ? `the file that ${fileVariable} names` : variable;
      throw new MarinError("RIGGING_SECRET_EMPTY", `Secret "${name}" is empty: ${where} holds nothing.`, { data: { name } });
    }
    this.#log?.debug("secret read", { scheme: direct === undefined ? "file" : "env" });
    return new Secret(name, value);
  }
}
