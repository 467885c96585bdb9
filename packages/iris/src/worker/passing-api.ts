import { type Connection, isMarinError } from "@marin/ducky";
import type { ApiCallOptions, IrisApi } from "../client/iris-api.js";
import { attemptApi, irisService } from "../client/iris-service.js";

type ApiMethod = (input: unknown, options: ApiCallOptions) => Promise<unknown> | AsyncIterable<unknown>;

/**
 * The controller as an attempt sees it, over the connection of the moment. Where that breaks, a call is made again on the next one: all are such that a
 * repetition changes nothing, and streams go on behind what has arrived.
 *
 * @param connected - the connection there is, or the next
 * @param attemptUid - the attempt
 */
export function passingApi(connected: (signal: AbortSignal) => Promise<Connection>, attemptUid: string): IrisApi {
  const never = new AbortController().signal;
  const method = async (name: string, signal: AbortSignal): Promise<ApiMethod> => (attemptApi(await connected(signal), attemptUid) as unknown as Readonly<Record<string, ApiMethod>>)[name] as ApiMethod;
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
    let from = input;
    for (;;) {
      const ask = await method(name, options.signal ?? never);
      try {
        for await (const item of ask(from, options) as AsyncIterable<unknown>) {
          from = behind(name, from, item);
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
  if (name !== "logs") return input;
  const { tail: _, ...rest } = input as { readonly tail?: unknown };
  return { ...rest, from: (item as { readonly next: unknown }).next };
}
