import { type WireError, errorFromWire, errorToWire } from "@marin/ducky";

/** An error on its way between the processes of one machine: what it says, and where it was thrown. */
export interface WireFailure {
  /** The error without stacks. */
  readonly error: WireError;
  /** The stacks of the error and of its causes, from the outside in. */
  readonly stacks: readonly string[];
}

/** Characters of a failure at most: it has to fit into a message, and a page. */
const maxFailure = 2 ** 20;

/** Characters that are left of each text of a longer one. */
const keptText = 2 ** 15;

/** The error as plain data. Unlike ducky's form it keeps the stacks: a job's user looks for the line of their own function. */
export function failureToWire(error: unknown): WireFailure {
  const failure = { error: errorToWire(error), stacks: stacksOf(error) };
  const length = JSON.stringify(failure).length;
  return length <= maxFailure ? failure : shortened(failure, length);
}

/** The outermost error alone; what it lacks is told in its message. */
function shortened({ error: { name, message, code, data }, stacks: [stack = ""] }: WireFailure, length: number): WireFailure {
  const told = `${message.slice(0, keptText)} [shortened: the error had ${String(length)} characters in all]`;
  return { error: { name, message: told, ...(code === undefined ? {} : { code }), ...(data === undefined ? {} : { data: {} }) }, stacks: [stack.slice(0, keptText)] };
}

/** What is thrown may be unreadable. */
function stacksOf(error: unknown): string[] {
  try {
    return causesOf(error).map(({ stack }) => (typeof stack === "string" ? stack : ""));
  } catch {
    return [];
  }
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
