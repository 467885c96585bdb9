import type { CallName } from "./call-errors.js";
import type { BidiStreamMethod, CallOptions, ClientStreamMethod, Items, Method, Methods, ServerStreamMethod, Service, ServiceClient, UnaryMethod } from "./contract.js";

/** How calls of each kind are made. */
export interface MethodCalls {
  unary(name: CallName, method: UnaryMethod, input: unknown, options: CallOptions): Promise<unknown>;
  serverStream(name: CallName, method: ServerStreamMethod, input: unknown, options: CallOptions): AsyncIterableIterator<unknown>;
  clientStream(name: CallName, method: ClientStreamMethod, items: Items<unknown>, options: CallOptions): Promise<unknown>;
  bidiStream(name: CallName, method: BidiStreamMethod, items: Items<unknown>, options: CallOptions): AsyncIterableIterator<unknown>;
}

const noOptions: CallOptions = {};

/** A service's methods as functions. */
export function serviceClient<M extends Methods>(service: Service<M>, calls: MethodCalls): ServiceClient<M> {
  const functions = Object.entries(service.methods).map(([method, definition]) => [method, functionOf({ service: service.name, method }, definition, calls)]);
  return Object.freeze(Object.fromEntries(functions)) as ServiceClient<M>;
}

function functionOf(name: CallName, method: Method, calls: MethodCalls): (input: never, options?: CallOptions) => unknown {
  switch (method.kind) {
    case "unary":
      return (input, options = noOptions) => calls.unary(name, method, input, options);
    case "serverStream":
      return (input, options = noOptions) => calls.serverStream(name, method, input, options);
    case "clientStream":
      return (items, options = noOptions) => calls.clientStream(name, method, items, options);
    case "bidiStream":
      return (items, options = noOptions) => calls.bidiStream(name, method, items, options);
  }
}
