import { readFile } from "node:fs/promises";
import { inspect } from "node:util";
import { MarinError } from "@marin/ducky";

/**
 * A secret value that does not show itself: printing, logging, string conversion and JSON all give "[secret NAME]".
 * Only {@link Secret.reveal} returns the value.
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
}

/**
 * Secrets by name. The secret "openai_api_key" is the value of the environment variable MARIN_SECRET_OPENAI_API_KEY, or
 * the content of the file that MARIN_SECRET_OPENAI_API_KEY_FILE names (one trailing line end is dropped).
 */
export class SecretStore {
  readonly #env: Readonly<Record<string, string | undefined>>;

  /** @param options - where to look */
  constructor(options: SecretStoreOptions = {}) {
    this.#env = options.env ?? process.env;
  }

  /**
   * The secret of that name. No error of this method holds the value.
   *
   * @param name - letters, digits, "_" and "-", not case-sensitive
   * @throws MarinError RIGGING_BAD_SECRET_NAME, RIGGING_SECRET_MISSING (neither variable is set),
   * RIGGING_SECRET_AMBIGUOUS (both are), RIGGING_SECRET_EMPTY, RIGGING_SECRET_UNREADABLE (the file cannot be read)
   */
  async get(name: string): Promise<Secret> {
    if (!/^[A-Za-z0-9_-]+$/.test(name)) {
      throw new MarinError("RIGGING_BAD_SECRET_NAME", `"${name}" cannot name a secret: use letters, digits, "_" and "-".`, { data: { name } });
    }
    const variable = `MARIN_SECRET_${name.toUpperCase().replaceAll("-", "_")}`;
    const fileVariable = `${variable}_FILE`;
    const direct = this.#env[variable];
    const path = this.#env[fileVariable];
    if (direct !== undefined && path !== undefined) {
      throw new MarinError("RIGGING_SECRET_AMBIGUOUS", `Secret "${name}" is given twice, by ${variable} and by ${fileVariable}: unset one.`, {
        data: { name, variable, fileVariable },
      });
    }
    if (direct === undefined && path === undefined) {
      throw new MarinError("RIGGING_SECRET_MISSING", `Secret "${name}" is not set: set ${variable}, or ${fileVariable} to a file that holds it.`, {
        data: { name, variable, fileVariable },
      });
    }
    const value = direct ?? (await this.#readSecretFile(name, fileVariable, path ?? ""));
    if (value === "") {
      const where = direct === undefined ? `the file that ${fileVariable} names` : variable;
      throw new MarinError("RIGGING_SECRET_EMPTY", `Secret "${name}" is empty: ${where} holds nothing.`, { data: { name } });
    }
    return new Secret(name, value);
  }

  async #readSecretFile(name: string, fileVariable: string, path: string): Promise<string> {
    try {
      return (await readFile(path, "utf8")).replace(/\r?\n$/, "");
    } catch (cause) {
      throw new MarinError("RIGGING_SECRET_UNREADABLE", `Secret "${name}": the file that ${fileVariable} names cannot be read: ${path}.`, {
        data: { name, fileVariable, path },
        cause,
      });
    }
  }
}
