import { execFile } from "node:child_process";
import { hostname, userInfo } from "node:os";
import { promisify } from "node:util";
import { z } from "zod";

const execFileText = promisify(execFile);

const runSchema = z.strictObject({
  user: z.string().describe("login name of who ran it; empty where the system has none"),
  host: z.string().describe("name of the machine"),
  commit: z.string().nullable().describe("commit checked out where it was run; null outside of a repository"),
  dirty: z.boolean().describe("whether files differed from that commit"),
  arguments: z.array(z.string()).describe("the command's arguments, secrets replaced"),
});

/** An artifact's provenance as it is stored. */
export const provenanceSchema = z.strictObject({
  ...runSchema.shape,
  startedAt: z.string().describe("begin of the last attempt, ISO 8601"),
  finishedAt: z.string().describe("ISO 8601"),
  durationMs: z.number().nonnegative().describe("time of the last attempt"),
  nodeVersion: z.string().describe("for example v20.20.2"),
  platform: z.string().describe("for example linux-x64"),
});

/** Who ran what, from which state of the sources. Plain JSON. */
export type RunProvenance = z.output<typeof runSchema>;

/** Who made an artifact, when, how, and from which state of the sources. */
export type Provenance = z.output<typeof provenanceSchema>;

/** What stands in the place of a secret. */
const REDACTED = "[redacted]";

/** Names whose values are secrets. */
const secretName = /(^|[._-])(pass(word|wd|phrase)?|secret|tokens?|api[._-]?keys?|apikeys?|access[._-]?keys?|private[._-]?keys?|credentials?|auth(orization)?)$/i;

/** User and password in a URL. */
const urlCredentials = /\b([a-z][a-z0-9+.-]*:\/\/)[^\s/@]+@/gi;

/** Forms that keys of well-known services have. */
const knownKeys = /\b(sk-[A-Za-z0-9_-]{16,}|gh[pousr]_[A-Za-z0-9]{20,}|hf_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16}|ya29\.[A-Za-z0-9_-]+|Bearer\s+\S+)/g;

/**
 * Describes the run that artifacts are made by.
 *
 * @param directory - where to look for a repository
 * @param commandArguments - the command's arguments; secrets in them are replaced, see {@link redactArguments}
 */
export async function describeRun(directory: string, commandArguments: readonly string[]): Promise<RunProvenance> {
  const commit = await git(directory, ["rev-parse", "HEAD"]);
  const changes = commit === undefined ? undefined : await git(directory, ["status", "--porcelain", "--untracked-files=no"]);
  return { ...anonymousRun(), commit: commit ?? null, dirty: (changes ?? "") !== "", arguments: redactArguments(commandArguments) };
}

/** What is known of a run without looking at the sources. */
export function anonymousRun(): RunProvenance {
  return { user: loginName(), host: hostname(), commit: null, dirty: false, arguments: [] };
}

/**
 * Replaces what looks like a secret by "[redacted]": values of names such as `apiKey`, `--token` or `db.password` (as `name=value`, or as the
 * argument that follows `--name`), user and password in URLs, and keys of well-known services. A name that only counts something
 * (`sample.tokens=100`) keeps its number.
 */
export function redactArguments(commandArguments: readonly string[]): string[] {
  return commandArguments.map((argument, index) => {
    const before = commandArguments[index - 1] ?? "";
    if (before.startsWith("--") && !before.includes("=") && !argument.startsWith("-") && isSecretName(before.slice(2), argument)) return REDACTED;
    const equals = argument.indexOf("=");
    const [name, value] = equals > 0 ? [argument.slice(0, equals), argument.slice(equals + 1)] : ["", ""];
    if (isSecretName(name.replace(/^-+/, ""), value)) return `${name}=${REDACTED}`;
    return redactText(argument);
  });
}

/** A JSON value with the texts of fields replaced whose names {@link redactArguments} takes for secrets. */
export function redactFields(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(redactFields);
  if (typeof value === "string") return redactText(value);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, typeof field === "string" && isSecretName(name, field) ? REDACTED : redactFields(field)]));
}

function redactText(text: string): string {
  return text.replace(urlCredentials, `$1${REDACTED}@`).replace(knownKeys, REDACTED);
}

function isSecretName(name: string, value: string): boolean {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1-$2");
  return secretName.test(words) && value !== "" && !/^\d{1,12}$/.test(value);
}

async function git(directory: string, parameters: readonly string[]): Promise<string | undefined> {
  try {
    return (await execFileText("git", ["-C", directory, ...parameters], { timeout: 5000, maxBuffer: 1 << 26 })).stdout.trim();
  } catch {
    // No repository, no commit yet, or no git: the artifact is as good without.
    return undefined;
  }
}

function loginName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run under a user id that has no name.
    return "";
  }
}
