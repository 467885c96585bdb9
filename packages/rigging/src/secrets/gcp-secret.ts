import { MarinError } from "@marin/ducky";
import type { TokenProvider } from "../auth/token-provider.js";
import { Deadline } from "../time/deadline.js";
import { retry } from "../time/retry.js";
import type { SecretSource } from "./reference.js";

/** How Google's Secret Manager is reached. */
export interface GcpSecretOptions {
  /** Where it is. Default "https://secretmanager.googleapis.com". */
  readonly endpoint?: string;
  /** Whose access it is. Default: Google's own search for credentials (`gcloud auth application-default login`, GOOGLE_APPLICATION_CREDENTIALS, the machine's account). */
  readonly tokens?: TokenProvider;
}

const defaultEndpoint = "https://secretmanager.googleapis.com";

/** One request; Secret Manager answers in well under a second. */
const requestTimeoutMs = 10_000;

/** A failure that may pass, as a server told it. */
class Unavailable extends Error {}

/**
 * The value of one version of a secret, checked against its CRC-32C.
 *
 * @returns undefined when there is no such secret or version
 * @throws MarinError RIGGING_SECRET_UNREADABLE, RIGGING_NO_CREDENTIALS, RIGGING_TOKEN_UNAVAILABLE; the signal's reason
 */
export async function readGcpSecret({ project, secret, version }: SecretSource & { scheme: "gcp-secret" }, tokens: TokenProvider, { endpoint = defaultEndpoint }: GcpSecretOptions, signal?: AbortSignal): Promise<string | undefined> {
  const resource = `projects/${project}/secrets/${secret}/versions/${version}`;
  const data = { scheme: "gcp-secret", resource };
  const refused = (why: string, cause?: unknown): MarinError =>
    new MarinError("RIGGING_SECRET_UNREADABLE", `Secret ${resource}: ${why}.`, { data, ...(cause === undefined ? {} : { cause }) });
  const { secret: token } = await tokens.token(signal === undefined ? {} : { signal });
  const work = async (): Promise<string | undefined> => {
    const answer = await fetch(`${endpoint}/v1/${resource}:access`, { headers: { authorization: `Bearer ${token.reveal()}` }, signal: AbortSignal.any([AbortSignal.timeout(requestTimeoutMs), ...(signal === undefined ? [] : [signal])]) });
    if (answer.ok) return await decode(await answer.json(), refused);
    await answer.body?.cancel();
    if (answer.status === 404) return undefined;
    const why = reasons[answer.status] ?? `the server answered ${String(answer.status)}`;
    throw answer.status === 429 || answer.status >= 500 ? new Unavailable(why) : refused(why);
  };
  try {
    // fetch's own failures, a connection that breaks among them, are TypeErrors; a time-out is a DOMException.
    return await retry(work, { retryIf: (error) => error instanceof Unavailable || error instanceof TypeError || error instanceof DOMException, attempts: 4, deadline: Deadline.after(3 * requestTimeoutMs), ...(signal === undefined ? {} : { signal }) });
  } catch (error) {
    signal?.throwIfAborted();
    if (error instanceof MarinError) throw error;
    throw refused(error instanceof Unavailable ? error.message : "the server cannot be reached", error);
  }
}

const reasons: Readonly<Record<number, string>> = {
  400: "the version is disabled or destroyed",
  401: "the credentials were not accepted",
  403: "the credentials may not read it: grant roles/secretmanager.secretAccessor",
  429: "the server asks to slow down",
};

async function decode(answer: unknown, refused: (why: string) => MarinError): Promise<string> {
  const { data, dataCrc32c } = (answer as { readonly payload?: { readonly data?: unknown; readonly dataCrc32c?: unknown } } | null)?.payload ?? {};
  if (typeof data !== "string") throw refused("the answer holds no value");
  const bytes = Buffer.from(data, "base64");
  if (dataCrc32c !== undefined) {
    const { CRC32C } = await import("@google-cloud/storage");
    const crc = new CRC32C();
    crc.update(bytes);
    if (crc.valueOf() >>> 0 !== Number(dataCrc32c)) throw refused("the answer's checksum does not fit its value");
  }
  return bytes.toString("utf8");
}
