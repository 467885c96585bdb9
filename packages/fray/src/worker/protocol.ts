import { defineService, unary, type Schema, type WireError } from "@marin/ducky";

/** Fields with the JavaScript type of each. Written by hand, because a schema library would more than double a worker's start-up. */
function fields<T>(types: Readonly<Record<keyof T & string, "string" | "number" | "object">>): Schema<T> {
  return {
    "~standard": {
      version: 1,
      vendor: "fray",
      validate: (value) => {
        const issues = Object.entries(types).flatMap(([field, type]) => {
          const found = typeof (value as Record<string, unknown> | null)?.[field];
          return found === type ? [] : [{ message: `expected ${String(type)}, found ${found}`, path: [field] }];
        });
        return issues.length === 0 ? { value: value as T } : { issues };
      },
    },
  };
}

const nothing = fields<object>({});

/** What a worker serves to whoever started it. */
export const workerService = defineService("fray.worker", {
  /** Answers once the worker can take calls. */
  hello: unary({ input: nothing, output: nothing }),
  /** Runs a function; answers only when it has ended, also when it was told to stop. `call` names it for {@link abort}. */
  run: unary({
    input: fields<{ readonly call: number; readonly module: string; readonly export: string; readonly args: Uint8Array }>({ call: "number", module: "string", export: "string", args: "object" }),
    output: fields<{ readonly value: Uint8Array }>({ value: "object" }),
  }),
  /** Aborts the signal of a function at work. */
  abort: unary({ input: fields<{ readonly call: number; readonly reason: WireError }>({ call: "number", reason: "object" }), output: nothing }),
  /** Aborts all functions at work, takes no more, and answers when all have ended. */
  stop: unary({ input: nothing, output: nothing }),
});

/** Limits of the connection between a worker and its parent, at both ends: half a GiB a message; a quarter that waits for an end that does not read. */
export const workerConnectionLimits = { maxMessageBytes: 2 ** 29, maxBacklogBytes: 2 ** 28 } as const;
