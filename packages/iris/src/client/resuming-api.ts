import { type Connection, isMarinError } from "@marin/ducky";
import type { ApiCallOptions, IrisApi } from "./iris-api.js";
import { irisService } from "./iris-service.js";

type ApiMethod = (input: unknown, options: ApiCallOptions) => Promise<unknown> | AsyncIterable<unknown>;

const never = new AbortController().signal;

/**
 * A controller over the connection of the moment. Where that breaks, a call is made again on the next one: all are such that a repetition changes nothing,
 * and streams go on behind what has arrived. Only a command that runs beside a task is not run again.
 *
 * @param connected - the connection there is, or the next
 * @param on - the controller at the other end of a connection
 */
export function resumingApi(connected: (signal: AbortSignal) => Promise<Connection>, on: (connection: Connection) => IrisApi): IrisApi {
  const method = async (name: string, signal: AbortSignal): Promise<ApiMethod> => (on(await connected(signal)) as unknown as Readonly<Record<string, ApiMethod>>)[name] as ApiMethod;
  const call = async (name: string, input: unknown, options: ApiCallOptions): Promise<unknown> => {
    for (;;) {
      const ask = await method(name, options.signal ?? never);
      try {
        return await ask(input, options);
      } catch (error) {
        if (!isMarinError(error, "DUCKY_CLOSED")) throw error;
      }
    }
  };
  const stream = async function* (name: string, input: unknown, options: ApiCallOptions): AsyncGenerator<unknown, void, void> {
    let rest = input;
    for (;;) {
      const ask = await method(name, options.signal ?? never);
      try {
        for await (const item of ask(rest, options) as AsyncIterable<unknown>) {
          rest = behind(name, rest, item);
          yield item;
        }
        return;
      } catch (error) {
        if (!isMarinError(error, "DUCKY_CLOSED") || name === "exec") throw error;
      }
    }
  };
  const calls = Object.entries(irisService.methods).map(([name, { kind }]) => [name, (input: unknown, options: ApiCallOptions = {}) => (kind === "unary" ? call(name, input, options) : stream(name, input, options))]);
  return Object.fromEntries(calls) as unknown as IrisApi;
}

/** What asks for the rest of a stream. */
function behind(name: string, input: unknown, item: unknown): unknown {
  if (name === "events") return { ...(input as object), cursor: (item as { readonly cursor: unknown }).cursor };
  if (name === "values") return { ...(input as object), from: (item as { readonly taskIndex: number }).taskIndex + 1 };
  if (name !== "logs") return input;
  const { tail: _, ...rest } = input as { readonly tail?: unknown };
  return { ...rest, from: (item as { readonly next: unknown }).next };
}
