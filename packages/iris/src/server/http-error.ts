import { redactor } from "@marin/rigging";
import { type Logger, isMarinError } from "../platform.js";

const statuses: Readonly<Record<string, number>> = {
  IRIS_NO_JOB: 404,
  IRIS_NO_BUNDLE: 404,
  IRIS_NO_OUTPUTS: 404,
  IRIS_NOT_FOUND: 404,
  IRIS_JOB_EXISTS: 409,
  RIGGING_EXISTS: 409,
  IRIS_BUSY: 429,
  IRIS_CLOSED: 503,
  IRIS_QUERY_TIMEOUT: 503,
};

/** What a client is told about an error, without secrets. What is no fault of the client's goes to the log, and only its code to the client. */
export function errorResponse(error: unknown, log: Logger): Response {
  if (isMarinError(error)) {
    const told = error.data["status"];
    const status = typeof told === "number" ? told : (statuses[error.code] ?? (/^(?:IRIS|DUCKY|RIGGING)_(?:BAD|INVALID|UNSCHEDULABLE)/.test(error.code) ? 400 : 500));
    const { challenge } = error.data;
    const headers: Record<string, string> = { ...(typeof challenge === "string" ? { "WWW-Authenticate": challenge } : {}), ...(status === 429 ? { "Retry-After": "1" } : {}) };
    if (status === 500) log.error("a request failed", { code: error.code, error: redactor.redact(error.message) });
    return Response.json({ error: { code: error.code, message: redactor.redact(error.message) } }, { status, headers });
  }
  log.error("a request failed", { error: redactor.redact(error instanceof Error ? error.message : String(error)) });
  return Response.json({ error: { code: "IRIS_SERVER_FAILED", message: "The server failed on this request; its log says why." } }, { status: 500 });
}
