import type { Band, Resources } from "../jobs/job-spec.js";
import type { WaitingJob } from "./snapshot.js";

/** The bands, first placed first. */
export const bandsInOrder: readonly Band[] = ["PRODUCTION", "INTERACTIVE", "BATCH"];

/** A band's place in the order: 0 goes first. */
export function rankOf(band: Band): number {
  return bandsInOrder.indexOf(band);
}

/** What a task costs while it has a place: 1,000 for an accelerator, 5 for a processor, 1 for a GiB of memory. Budgets and shares are counted in it. */
export function spendOf({ cpu, memoryBytes, device }: Resources): number {
  return 1000 * (device?.count ?? 0) + 5 * cpu + memoryBytes / 2 ** 30;
}

/** What each user has taken. */
export class Accounts {
  readonly #budgets: Readonly<Record<string, number>>;
  readonly #accounts = new Map<string, Account>();

  constructor(budgets: Readonly<Record<string, number>>) {
    this.#budgets = budgets;
  }

  of(user: string): Account {
    let account = this.#accounts.get(user);
    if (account === undefined) {
      account = { user, spend: 0, usage: 0, budget: Object.hasOwn(this.#budgets, user) ? (this.#budgets[user] as number) : Infinity };
      this.#accounts.set(user, account);
    }
    return account;
  }

  charge(user: string, band: Band, cost: number): void {
    const account = this.of(user);
    account.usage += cost;
    if (band !== "BATCH") account.spend += cost;
  }
}

/** What a user has taken and may take. */
export interface Account {
  readonly user: string;
  /** Of attempts that do not count as BATCH. */
  spend: number;
  /** Of all attempts. */
  usage: number;
  /** What the user may spend. Infinity: any amount. */
  readonly budget: number;
}

/** A user's waiting jobs of one band, in order. */
interface UserQueue<T> {
  readonly account: Account;
  readonly jobs: T[];
  next: number;
  turns: number;
}

/**
 * Takes turns: the user who has taken least comes first, then who had fewer turns. Within a user, deeper jobs come first, then those whose tree was submitted earlier.
 */
export class FairQueue<T extends { readonly job: WaitingJob }> {
  /** A binary heap. */
  readonly #users: UserQueue<T>[] = [];

  constructor(entries: readonly T[], accounts: Accounts) {
    const queues = new Map<string, UserQueue<T>>();
    for (const entry of entries) {
      const queue = queues.get(entry.job.user);
      if (queue === undefined) queues.set(entry.job.user, { account: accounts.of(entry.job.user), jobs: [entry], next: 0, turns: 0 });
      else queue.jobs.push(entry);
    }
    for (const queue of queues.values()) {
      queue.jobs.sort((a, b) => b.job.depth - a.job.depth || a.job.rootSubmittedAt - b.job.rootSubmittedAt);
      this.#users.push(queue);
      this.#up(this.#users.length - 1);
    }
  }

  /** The job whose turn it is, or undefined when there is none left. */
  get next(): T | undefined {
    const queue = this.#users[0];
    return queue?.jobs[queue.next];
  }

  /** That job has had its turn. `done`: it has no further one. */
  turned(done: boolean): void {
    const queue = this.#users[0];
    if (queue === undefined) return;
    queue.turns += 1;
    if (done) queue.next += 1;
    if (queue.next < queue.jobs.length) return this.#down(0);
    const last = this.#users.pop();
    if (last !== undefined && this.#users.length > 0) {
      this.#users[0] = last;
      this.#down(0);
    }
  }

  #before(a: UserQueue<T>, b: UserQueue<T>): boolean {
    if (a.account.usage !== b.account.usage) return a.account.usage < b.account.usage;
    return a.turns !== b.turns ? a.turns < b.turns : a.account.user < b.account.user;
  }

  #up(start: number): void {
    for (let place = start; place > 0; ) {
      const parent = (place - 1) >>> 1;
      if (!this.#swapIfBefore(place, parent)) return;
      place = parent;
    }
  }

  #down(start: number): void {
    for (let place = start; ; ) {
      const [left, right] = [place * 2 + 1, place * 2 + 2];
      if (left >= this.#users.length) return;
      const first = right < this.#users.length && this.#before(this.#users[right] as UserQueue<T>, this.#users[left] as UserQueue<T>) ? right : left;
      if (!this.#swapIfBefore(first, place)) return;
      place = first;
    }
  }

  #swapIfBefore(below: number, above: number): boolean {
    const [a, b] = [this.#users[below] as UserQueue<T>, this.#users[above] as UserQueue<T>];
    if (!this.#before(a, b)) return false;
    this.#users[below] = b;
    this.#users[above] = a;
    return true;
  }
}
