import { MarinError } from "../platform.js";
import type { ApiCallOptions, IrisApi } from "./iris-api.js";

/** A controller that is there, and how to end it. */
export interface OpenApi {
  readonly api: IrisApi;
  close(): Promise<void>;
}

const streams: ReadonlySet<string> = new Set<keyof IrisApi>(["values", "events", "logs", "exec"]);

const calls: readonly (keyof IrisApi)[] = [
  "submit",
  "status",
  "describe",
  "list",
  "wait",
  "values",
  "cancel",
  "complete",
  "events",
  "logs",
  "exec",
  "workers",
  "users",
  "setBudget",
  "register",
  "renew",
  "unregister",
  "resolve",
];

type Call = (input: unknown, options?: ApiCallOptions) => unknown;

/**
 * A controller that is found with each call.
 *
 * @param find - gives it; a failure is that of the call
 */
export function forwardingApi(find: () => IrisApi | Promise<IrisApi>): IrisApi {
  const call = (name: keyof IrisApi): Call => {
    if (!streams.has(name)) return async (input, options) => ((await find())[name] as Call)(input, options);
    return async function* (input, options) {
      yield* ((await find())[name] as Call)(input, options) as AsyncIterable<unknown>;
    };
  };
  return Object.fromEntries(calls.map((name) => [name, call(name)])) as unknown as IrisApi;
}

/**
 * A controller that is opened with the first call.
 *
 * @param open - opens it; a failure is that of the call, and the next one tries again
 * @returns it; closed once, it stays closed
 */
export function lazyApi(open: () => Promise<OpenApi>): OpenApi {
  let opened: Promise<OpenApi> | undefined;
  let closing: Promise<void> | undefined;
  return {
    api: forwardingApi(async () => {
      if (closing !== undefined && opened === undefined) throw new MarinError("IRIS_CLOSED", "The client is closed.");
      opened ??= open().catch((error: unknown) => {
        opened = undefined;
        throw error;
      });
      return (await opened).api;
    }),
    close: () => (closing ??= opened?.then((controller) => controller.close()) ?? Promise.resolve()),
  };
}
