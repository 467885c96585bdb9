import { isMarinError, MarinError } from "@marin/ducky";

/** What was being done. */
interface GcsOperation {
  readonly action: string;
  readonly path: string;
}

const byStatus: Readonly<Record<number, readonly [code: string, explanation: string]>> = {
  401: ["RIGGING_NO_CREDENTIALS", "the server does not accept the credentials; run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file"],
  403: ["RIGGING_ACCESS_DENIED", "the account has no permission; grant it a role such as roles/storage.objectUser on the bucket"],
  404: ["RIGGING_NOT_FOUND", "there is no such object, or no such bucket"],
  412: ["RIGGING_EXISTS", "something is there already, or was written in between"],
  429: ["RIGGING_STORAGE_UNAVAILABLE", "the server asks to slow down"],
};

/** The HTTP status of a client's error, where it has one. */
export function statusOf(error: unknown): number | undefined {
  const { code, status, response } = (error ?? {}) as { readonly code?: unknown; readonly status?: unknown; readonly response?: { readonly status?: unknown } };
  return [code, status, response?.status].map(Number).find((number) => Number.isInteger(number) && number >= 100 && number < 600);
}

/** Whether asking again may help: the server is busy or out of order, or the connection was lost. */
export function mayPass(error: unknown): boolean {
  const status = statusOf(error);
  const systemCode = (error as { readonly code?: unknown } | null)?.code;
  return status === undefined ? typeof systemCode === "string" && /^E[A-Z_]+$/.test(systemCode) && !isMarinError(error) : status === 408 || status === 429 || status >= 500;
}

/**
 * An error of the client as a MarinError. The client's own error is not passed on: it holds the request with its
 * credentials. Its message is, without whatever looks like one.
 */
export function gcsError(error: unknown, { action, path }: GcsOperation): unknown {
  if (isMarinError(error) || (error instanceof Error && error.name === "AbortError")) return error;
  const status = statusOf(error);
  const message = withoutSecrets(error instanceof Error ? error.message : String(error));
  const systemCode = (error as { readonly code?: unknown } | null)?.code;
  const data = { path, ...(status === undefined ? {} : { status }), ...(typeof systemCode === "string" ? { systemCode } : {}) };
  const make = (code: string, explanation: string): MarinError => new MarinError(code, `Cannot ${action} ${path}: ${explanation} (${message}).`, { data });
  const known = status === undefined ? undefined : byStatus[status];
  if (known !== undefined) return make(known[0], known[1]);
  if (status === undefined && /default credentials|private key|invalid_grant|client_email/i.test(message)) {
    return make("RIGGING_NO_CREDENTIALS", "no credentials were found; run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS to a key file");
  }
  if ((status !== undefined && status >= 500) || (typeof systemCode === "string" && /^E[A-Z_]+$/.test(systemCode))) {
    return make("RIGGING_STORAGE_UNAVAILABLE", "the server cannot be reached or is out of order; try again later");
  }
  return make("RIGGING_STORAGE_FAILED", "the server refused");
}

/** What may stand in an error text and must not be seen: tokens, signatures, keys, the address of an upload session. */
function withoutSecrets(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const hidden = line
    .replace(/-----BEGIN.*?(-----END[^-]*-----|$)/g, "[hidden]")
    .replace(/\b(Bearer|Basic)\s+[^\s"',]+/gi, "$1 [hidden]")
    .replace(/((?:access_token|refresh_token|id_token|token|upload_id|signature|x-goog-signature|x-goog-credential|key|password|secret|assertion)["']?\s*[=:]\s*["']?)[^\s"'&,]+/gi, "$1[hidden]")
    .replace(/\bya29\.[^\s"',]+/g, "[hidden]");
  return hidden.length > 300 ? `${hidden.slice(0, 300)}...` : hidden === "" ? "no reason given" : hidden.replace(/\.$/, "");
}
