import { AsyncLocalStorage } from "node:async_hooks";
import { MarinError } from "@marin/ducky";
import { formatBytes, parseBytes } from "../bytes.js";

/** Settings of a {@link TransferBudget}. */
export interface TransferBudgetOptions {
  /** Bytes that may be read over the network. Default: no limit. */
  readonly bytes?: number;
  /** What to call it in messages. Default "the transfer budget". */
  readonly name?: string;
}

/**
 * Bytes that may come over the network, counted before they are read: what crosses regions or comes from a hub costs money or time. Copies
 * that a store makes between two of its buckets count as well.
 */
export class TransferBudget {
  /** What it is called in messages. */
  readonly name: string;
  #limit: number;
  #used = 0;

  /** @param options - how much it allows */
  constructor({ bytes = Infinity, name = "the transfer budget" }: TransferBudgetOptions = {}) {
    this.name = name;
    this.#limit = bytes;
  }

  /** Bytes that it allows in all; Infinity without a limit. */
  get limit(): number {
    return this.#limit;
  }

  /** Bytes charged so far. */
  get used(): number {
    return this.#used;
  }

  /** Changes what it allows in all; what has been charged stays charged. */
  setLimit(bytes: number): void {
    this.#limit = bytes;
  }

  /**
   * Charges a read that is about to be made, or nothing.
   *
   * @param path - what will be read, for the message
   * @throws MarinError RIGGING_TRANSFER_BUDGET when less is left
   */
  charge(path: string, bytes: number): void {
    this.check(path, bytes);
    this.#used += bytes;
  }

  /** Throws as {@link TransferBudget.charge} would, and charges nothing. */
  check(path: string, bytes: number): void {
    if (this.#used + bytes <= this.#limit) return;
    throw new MarinError(
      "RIGGING_TRANSFER_BUDGET",
      `Reading ${formatBytes(bytes)} of ${path} is more than ${this.name} allows: ${formatBytes(this.#used)} of ${formatBytes(this.#limit)} are used. Read a copy that is nearer (mirror:// keeps one), or raise the limit.`,
      { data: { path, bytes, used: this.#used, limit: this.#limit, budget: this.name } },
    );
  }
}

/**
 * The budget of all this process reads from other machines. The environment variable MARIN_TRANSFER_BUDGET ("10GB") limits it from the
 * start; without it there is no limit until `setLimit`.
 */
export const processTransferBudget: TransferBudget = new TransferBudget({ name: "the process's transfer budget (MARIN_TRANSFER_BUDGET)", bytes: limitOf(process.env["MARIN_TRANSFER_BUDGET"]) });

const scopes = new AsyncLocalStorage<readonly TransferBudget[]>();

/** Runs work whose reads, across await and timers too, are charged to this budget and to those around it. */
export function withTransferBudget<T>(budget: TransferBudget, work: () => T): T {
  return scopes.run([...(scopes.getStore() ?? []), budget], work);
}

/**
 * Charges every budget that holds here, or none when one refuses. Storage does it by itself; readers that fetch on their own (a
 * database that reads gs:// paths) call it before they do.
 *
 * @throws MarinError RIGGING_TRANSFER_BUDGET
 */
export function chargeTransfer(path: string, bytes: number): void {
  const budgets = [...(scopes.getStore() ?? []), processTransferBudget];
  for (const budget of budgets) budget.check(path, bytes);
  for (const budget of budgets) budget.charge(path, bytes);
}

/** Whether any budget that holds here has a limit. */
export function isTransferLimited(): boolean {
  return [...(scopes.getStore() ?? []), processTransferBudget].some(({ limit }) => limit !== Infinity);
}

function limitOf(text: string | undefined): number {
  return text === undefined || text === "" ? Infinity : parseBytes(text);
}
