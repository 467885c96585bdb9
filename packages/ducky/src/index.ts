export type { BackoffOptions } from "./backoff.js";
export { Channel, type ChannelOptions } from "./channel.js";
export { Connection, type ConnectionOptions } from "./connection.js";
export {
  bidiStream,
  clientStream,
  defineService,
  serverStream,
  unary,
  type BidiStreamMethod,
  type CallContext,
  type Caller,
  type CallOptions,
  type ClientStreamMethod,
  type Items,
  type Method,
  type Methods,
  type Schema,
  type SchemaInput,
  type SchemaIssue,
  type SchemaOutput,
  type SchemaResult,
  type ServerStreamMethod,
  type Service,
  type ServiceClient,
  type ServiceHandlers,
  type UnaryMethod,
} from "./contract.js";
export { MarinError, isMarinError, type MarinErrorOptions } from "./errors.js";
export { errorFromWire, errorToWire, type JsonValue, type WireError } from "./error-wire.js";
export type { Authenticate, ConnectRequest, Identity } from "./identity.js";
export type { Transport } from "./transport.js";
export { portTransport } from "./transports/port.js";
export { processTransport } from "./transports/process.js";
export {
  acceptWebSocket,
  connectWebSocket,
  listenWebSocket,
  type WebSocketAcceptor,
  type WebSocketOptions,
  type WebSocketServerHandle,
  type WebSocketServerOptions,
  type WebSocketSettings,
} from "./transports/websocket.js";
export { openTunnel, serveTunnel, type Tunnel, type TunnelOptions, type TunnelServer, type TunnelServerOptions } from "./tunnel.js";
export { openKubectlTunnel, openSshTunnel, type CommandTunnelOptions, type KubectlTunnelOptions, type SshTunnelOptions } from "./command-tunnel.js";
