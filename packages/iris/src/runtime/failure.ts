import { type WireError, errorFromWire, errorToWire } from "@marin/ducky";

/** An error on its way between the processes of one machine: what it says, and where it was thrown. */
export interface WireFailure {
  /** The error without stacks. */
  readonly error: WireError;
  /** The stacks of the error and of its causes, from the outside in. */
  readonly stacks: readonly string[];
}

/** The error as plain data. Unlike ducky's form it keeps the stacks: a job's user looks for the line of their own function. */
export function failureToWire(error: unknown): WireFailure {
  return { error: errorToWire(error), stacks: causesOf(error).map((each) => each.stack ?? "") };
}

/** The error, with the stacks it had where it was thrown. */
export function failureFromWire({ error, stacks }: WireFailure): Error {
  const result = errorFromWire(error);
  for (const [index, each] of causesOf(result).entries()) {
    const stack = stacks[index];
    if (stack !== undefined && stack !== "") Object.defineProperty(each, "stack", { value: stack, writable: true, configurable: true });
  }
  return result;
}

function causesOf(error: unknown): Error[] {
  const chain: Error[] = [];
  for (let each = error; each instanceof Error && !chain.includes(each); each = each.cause) chain.push(each);
  return chain;
}
