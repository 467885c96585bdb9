import { isMarinError, MarinError } from "@marin/ducky";

/** What was being done. */
interface RemoteOperation {
  readonly action: string;
  readonly path: string;
}

/** What a kind of store tells its users to do. */
export interface StoreAdvice {
  /** Where credentials come from. */
  readonly credentials: string;
  /** What gives permission. */
  readonly permission: string;
}

const explanations: Readonly<Record<number, readonly [code: string, explanation: (advice: StoreAdvice) => string]>> = {
  401: ["RIGGING_NO_CREDENTIALS", ({ credentials }) => `the server does not accept the credentials; ${credentials}`],
  403: ["RIGGING_ACCESS_DENIED", ({ permission }) => `the account has no permission; ${permission}`],
  404: ["RIGGING_NOT_FOUND", () => "there is no such object, or no such bucket"],
  412: ["RIGGING_EXISTS", () => "something is there already, or was written in between"],
  429: ["RIGGING_STORAGE_UNAVAILABLE", () => "the server asks to slow down"],
};

/** The HTTP status of a client's error, where it has one. */
export function statusOf(error: unknown): number | undefined {
  const { code, status, response, $metadata } = (error ?? {}) as Readonly<{ code?: unknown; status?: unknown; response?: { status?: unknown }; $metadata?: { httpStatusCode?: unknown } }>;
  return [$metadata?.httpStatusCode, code, status, response?.status].map(Number).find((number) => Number.isInteger(number) && number >= 100 && number < 600);
}

/** Whether asking again may help: the server is busy or out of order, or the connection was lost. */
export function mayPass(error: unknown): boolean {
  const status = statusOf(error);
  const systemCode = systemCodeOf(error);
  if (isMarinError(error)) return error.data["interrupted"] === true;
  const isLost = (typeof systemCode === "string" && /^(E[A-Z_]+|UND_ERR_[A-Z_]+)$/.test(systemCode)) || (error instanceof Error && error.name === "TimeoutError");
  return status === undefined ? isLost : status === 408 || status === 429 || status >= 500;
}

/**
 * An error of the client as a MarinError. The client's own error is not passed on: it holds the request with its
 * credentials. Its message is, without whatever looks like one.
 */
export function remoteError(error: unknown, { action, path }: RemoteOperation, advice: StoreAdvice): unknown {
  if (isMarinError(error) || (error instanceof Error && error.name === "AbortError")) return error;
  const status = statusOf(error);
  // fetch tells why in the cause alone.
  const told = error instanceof TypeError && error.cause instanceof Error ? error.cause : error;
  const message = withoutSecrets(told instanceof Error ? told.message : String(told));
  const systemCode = systemCodeOf(error);
  const data = { path, ...(status === undefined ? {} : { status }), ...(typeof systemCode === "string" ? { systemCode } : {}) };
  const make = (code: string, explanation: string): MarinError => new MarinError(code, `Cannot ${action} ${path}: ${explanation} (${message}).`, { data });
  const known = status === undefined ? undefined : explanations[status];
  if (known !== undefined) return make(known[0], known[1](advice));
  if (status === undefined && /default credentials|private key|invalid_grant|client_email|load credentials|CredentialsProvider/i.test(message)) {
    return make("RIGGING_NO_CREDENTIALS", `no credentials were found; ${advice.credentials}`);
  }
  if (mayPass(error)) {
    return make("RIGGING_STORAGE_UNAVAILABLE", "the server cannot be reached or is out of order; try again later");
  }
  return make("RIGGING_STORAGE_FAILED", "the server refused");
}

function systemCodeOf(error: unknown): unknown {
  const { code, cause } = (error ?? {}) as { readonly code?: unknown; readonly cause?: { readonly code?: unknown } };
  return code ?? cause?.code;
}

/** What may stand in an error text and must not be seen: tokens, signatures, keys, the address of an upload session. */
function withoutSecrets(text: string): string {
  const line = text.replace(/\s+/g, " ").trim();
  const hidden = line
    .replace(/-----BEGIN.*?(-----END[^-]*-----|$)/g, "[hidden]")
    .replace(/\b(Bearer|Basic)\s+[^\s"',]+/gi, "$1 [hidden]")
    .replace(/((?:access_token|x-amz-signature|x-amz-credential|x-amz-security-token|awsaccesskeyid|refresh_token|id_token|token|upload_id|signature|x-goog-signature|x-goog-credential|key|password|secret|assertion)["']?\s*[=:]\s*["']?)[^\s"'&,]+/gi, "$1[hidden]")
    .replace(/\bya29\.[^\s"',]+/g, "[hidden]");
  return hidden.length > 300 ? `${hidden.slice(0, 300)}...` : hidden === "" ? "no reason given" : hidden.replace(/\.$/, "");
}
