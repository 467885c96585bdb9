/** What an HTTP error says besides its status. */
export interface ApiErrorDetails {
  /** For programs: `invalid_json`, `unknown_field`, ... */
  readonly code: string;
  /** The field that is wrong, where it is one. */
  readonly param?: string | undefined;
  /** Further headers: `Retry-After`, `Allow`. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  readonly cause?: unknown;
}

/** An error that a client of the inference server is told. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly param: string | undefined;
  readonly headers: Readonly<Record<string, string>>;

  constructor(status: number, message: string, { code, param, headers = {}, cause }: ApiErrorDetails) {
    super(message, cause === undefined ? {} : { cause });
    this.name = "ApiError";
    this.status = status;
    this.code = code;
    this.param = param;
    this.headers = headers;
  }

  /** As JSON, in the shape that OpenAI's clients know. */
  body(): { error: { message: string; type: string; param: string | null; code: string } } {
    const type = this.status === 401 ? "authentication_error" : this.status >= 500 || this.status === 429 ? "server_error" : "invalid_request_error";
    return { error: { message: this.message, type, param: this.param ?? null, code: this.code } };
  }

  /** The answer that carries it. */
  response(): Response {
    return Response.json(this.body(), { status: this.status, headers: this.headers });
  }
}
