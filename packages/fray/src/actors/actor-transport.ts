import { connectWebSocket, listenWebSocket, MarinError, type Transport } from "@marin/ducky";

/** An address that is listened at. */
export interface ActorListener {
  /** What others connect to: begins with the transport's scheme and "://". */
  readonly address: string;
  /** Takes no more connections, and ends those there are. */
  close(): Promise<void>;
}

/**
 * A way for calls of actors to travel: connects to addresses of its scheme, and listens at one. What it gives carries whole frames of bytes, in order, and
 * closes once; the rest (calls, streams, back-pressure, delivery) is this package's.
 */
export interface ActorTransport {
  /** What its addresses begin with, before "://". */
  readonly scheme: string;
  /**
   * Connects to an address.
   *
   * @param address - as {@link ActorListener} has it
   * @param options - `signal` ends the attempt
   * @throws any error, which becomes the cause of FRAY_ACTOR_UNAVAILABLE
   */
  connect(address: string, options: { readonly signal: AbortSignal }): Promise<Transport>;
  /**
   * Listens. Absent in a transport that only connects.
   *
   * @param accept - takes each connection
   */
  listen?(accept: (transport: Transport) => void): Promise<ActorListener>;
}

/** Settings of {@link webSocketActors}. */
export interface WebSocketActorsOptions {
  /** What both ends must know. Default: none, which only a loopback address may do without. */
  readonly token?: string;
  /** Where to listen. Default: 127.0.0.1. */
  readonly host?: string;
  /** Default: 0, a free one. */
  readonly port?: number;
  /** Largest message, in bytes. Default: 64 MiB. */
  readonly maxMessageBytes?: number;
}

/** Largest message over a connection, where nobody says otherwise. */
export const defaultMaxMessageBytes = 64 * 2 ** 20;

/** Calls over ducky's WebSockets. */
export function webSocketActors(options: WebSocketActorsOptions = {}): ActorTransport {
  const { token, host, port, maxMessageBytes = defaultMaxMessageBytes } = options;
  const common = { maxMessageBytes, ...(token === undefined ? {} : { token }) };
  return {
    scheme: "ws",
    connect: (address, { signal }) => connectWebSocket(address, { ...common, signal }),
    listen: async (accept) => {
      const server = await listenWebSocket({ ...common, ...(host === undefined ? {} : { host }), ...(port === undefined ? {} : { port }), onConnection: accept });
      return { address: server.url, close: () => server.close() };
    },
  };
}

/** The transport of an address. */
export function transportOf(address: string, transports: readonly ActorTransport[]): ActorTransport {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//.exec(address)?.[1];
  const found = transports.find((transport) => transport.scheme === scheme);
  if (found !== undefined) return found;
  const schemes = transports.map((transport) => `${transport.scheme}://`);
  throw new MarinError("FRAY_NO_TRANSPORT", `No transport of this client reaches "${address}"; it has ${schemes.length === 0 ? "none" : schemes.join(", ")}. Name one in its transports.`, { data: { address, schemes } });
}
