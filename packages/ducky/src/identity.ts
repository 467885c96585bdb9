/** What a server's `authenticate` sees of a request that wants to connect. */
export interface ConnectRequest {
  /** Names in lower case, as Node's servers give them. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Address of the other end of the connection itself, never one that a header names. */
  readonly remoteAddress: string | undefined;
}

/** Who is at the other end of a connection; handlers see it as `call.identity`. */
export interface Identity {
  /** The person or program: "ada", "worker-7". */
  readonly name: string;
  /** What it may do; the meaning is the server's. */
  readonly scopes?: readonly string[];
  /** When its credential ends, in milliseconds since 1970: the connection is ended then. Default: never. */
  readonly expiresAt?: number;
}

/**
 * Tells who wants to connect; undefined refuses the connection. Throws to refuse it with a reason: the message of a MarinError and its
 * `data.status` (an HTTP status, default 401) are told to the client, any other error as a bare 500.
 */
export type Authenticate = (request: ConnectRequest) => Identity | undefined | Promise<Identity | undefined>;
