import type { Band } from "../jobs/job-spec.js";
import type { PendingReason } from "../jobs/model.js";
import { addTo, amountsOf, fits, mostOf } from "./amounts.js";
import { hasBit, nextBit } from "./bits.js";
import { Accounts, FairQueue, bandsInOrder, spendOf } from "./fair-share.js";
import { fitGang } from "./gangs.js";
import { Evictions } from "./preemption.js";
import { type Blockage, blockageOf, gangBlockageOf, reasonOf } from "./reasons.js";
import { type Shape, Shapes } from "./shapes.js";
import type { Place, PlacedAttempt, Reservation, Schedule, SchedulingSnapshot, WaitingJob } from "./snapshot.js";
import { WorkerTable } from "./worker-table.js";

/**
 * Decides which waiting tasks start, and where; which attempts make place for them; and why the others wait. Pure: the same question gets the same answer.
 *
 * What was promised to the beneficiaries of earlier evictions comes first. Then the bands, PRODUCTION before INTERACTIVE before BATCH; in each, gangs before single tasks; among
 * those, the user who has taken least. What does not fit lets those behind it pass.
 */
export function schedule(snapshot: SchedulingSnapshot): Schedule {
  const round = new Round(snapshot);
  round.keepPromises(snapshot.reservations);
  for (const band of bandsInOrder) round.place(band);
  return round.result();
}

/** After so many tasks the most that any worker has free is looked up anew. */
const ceilingAge = 100;

/** A job with tasks that wait, during one decision. */
interface Entry {
  readonly job: WaitingJob;
  readonly shape: Shape;
  /** What one task costs. */
  readonly cost: number;
  /** The tasks that have no place yet, the next one last. */
  readonly rest: number[];
  /** Set once an INTERACTIVE job counts as BATCH. */
  overBudget: PendingReason["overBudget"];
}

class Round {
  readonly #table: WorkerTable;
  readonly #accounts: Accounts;
  readonly #entries: readonly Entry[];
  readonly #byUid: ReadonlyMap<string, Entry>;
  readonly #evictions: Evictions;
  readonly #maxStarting: number;
  #evictable: number;
  /** The most that any worker had free when it was last looked at, and how many tasks were given a place since. */
  #ceiling: Float64Array = new Float64Array();
  #taken = ceilingAge;
  readonly #assigned = new Map<string, { readonly jobUid: string; readonly band: Band; readonly places: Place[] }>();
  readonly #reservations = new Map<string, { readonly jobUid: string; readonly band: Band; readonly places: Place[] }>();
  readonly #preempt: { readonly attemptUid: string; readonly jobUid: string; readonly by: { readonly jobUid: string; readonly jobId: string } }[] = [];

  constructor({ workers, waiting, placed, budgets, maxPreemptions = 64, maxStartingPerWorker = Infinity }: SchedulingSnapshot) {
    this.#table = new WorkerTable(workers);
    this.#accounts = new Accounts(budgets);
    this.#maxStarting = maxStartingPerWorker;
    this.#evictable = maxPreemptions;
    for (const attempt of placed) this.#occupy(attempt);
    const shapes = new Shapes(this.#table);
    this.#entries = waiting.map((job) => ({ job, shape: shapes.of(job), cost: spendOf(job.resources), rest: [...job.taskIndexes].reverse(), overBudget: undefined }));
    this.#byUid = new Map(this.#entries.map((entry) => [entry.job.jobUid, entry]));
    this.#evictions = new Evictions(this.#table, placed, maxStartingPerWorker);
  }

  #occupy({ worker, resources, stopping, running, user, band, gang }: PlacedAttempt): void {
    this.#accounts.charge(user, band, spendOf(resources));
    const place = this.#table.indexOf.get(worker);
    if (place === undefined) return;
    const amounts = amountsOf(resources);
    addTo(this.#table.free, place, amounts, -1);
    if (!stopping) addTo(this.#table.soon, place, amounts, -1);
    if (!running && gang === undefined) this.#table.starting[place] = (this.#table.starting[place] as number) + 1;
    if (gang?.groupBy !== undefined && resources.device?.kind === "tpu") this.#table.tpuGangTasks[place] = (this.#table.tpuGangTasks[place] as number) + 1;
  }

  /** Starts what others were evicted for as soon as it fits, and holds its room until then. */
  keepPromises(reservations: readonly Reservation[]): void {
    for (const { jobUid, band, places } of reservations) {
      const entry = this.#byUid.get(jobUid);
      if (entry === undefined) continue;
      const located = places.map((place) => ({ ...place, index: this.#table.indexOf.get(place.worker) ?? -1 }));
      const { amounts, tiers } = entry.shape;
      const stands = located.every(({ taskIndex, index }) => index >= 0 && entry.rest.includes(taskIndex) && tiers.some((tier) => hasBit(tier, index)));
      if (!stands || (entry.job.gang !== undefined && places.length < entry.rest.length)) continue;
      for (const { index } of located) this.#table.take(index, amounts);
      const negative = (room: Float64Array): boolean => located.some(({ index }) => amounts.some((amount, dimension) => amount > 0 && (room[index * amounts.length + dimension] as number) < 0));
      if (negative(this.#table.soon)) {
        // What was to become free is gone with its worker, or not enough.
        for (const { index } of located) {
          addTo(this.#table.free, index, amounts, 1);
          addTo(this.#table.soon, index, amounts, 1);
        }
        continue;
      }
      this.#accounts.charge(entry.job.user, band, entry.cost * places.length);
      const list = negative(this.#table.free) ? this.#reservations : this.#assigned;
      for (const { taskIndex, worker, index } of located) {
        entry.rest.splice(entry.rest.indexOf(taskIndex), 1);
        this.#note(list, entry, band, taskIndex, worker, index);
      }
    }
  }

  /** Gives the tasks of a band their places, gangs first. */
  place(band: Band): void {
    const entries = this.#entries.filter(({ job, overBudget }) => (overBudget === undefined ? job.band : "BATCH") === band);
    for (const gangs of [true, false]) {
      const queue = new FairQueue(entries.filter(({ job, rest }) => (job.gang !== undefined) === gangs && rest.length > 0), this.#accounts);
      for (let entry = queue.next; entry !== undefined; entry = queue.next) queue.turned(!this.#turn(entry, band) || entry.rest.length === 0);
    }
  }

  /** Whether the job got what it could have in one turn, and may have another. */
  #turn(entry: Entry, band: Band): boolean {
    const { job, cost, rest } = entry;
    const gang = job.gang !== undefined;
    const price = gang ? cost * rest.length : cost;
    const { spend, budget } = this.#accounts.of(job.user);
    if (band === "INTERACTIVE" && spend + price > budget) {
      entry.overBudget = { spend, budget };
      return false;
    }
    const placed = gang ? this.#turnOfGang(entry, band) : this.#turnOfTask(entry, band);
    if (placed) this.#accounts.charge(job.user, band, price);
    return placed;
  }

  #turnOfTask(entry: Entry, band: Band): boolean {
    const worker = this.#firstFit(entry.shape);
    if (worker !== undefined) {
      this.#give(this.#assigned, entry, band, [worker]);
      return true;
    }
    const eviction = this.#evictable > 0 ? this.#evictions.forTask(entry.job, band, entry.shape, this.#evictable) : undefined;
    if (eviction === undefined) return false;
    this.#evict(entry, band, eviction.victims, eviction.workers);
    return true;
  }

  #turnOfGang(entry: Entry, band: Band): boolean {
    const { job, shape, rest } = entry;
    const fit = fitGang(this.#table, this.#table.free, shape, rest.length, job.gang?.groupBy);
    if (fit.workers !== undefined) {
      this.#give(this.#assigned, entry, band, fit.workers);
      return true;
    }
    if (band === "BATCH") return false;
    const soon = fitGang(this.#table, this.#table.soon, shape, rest.length, job.gang?.groupBy);
    if (soon.workers !== undefined) {
      this.#evict(entry, band, [], soon.workers);
      return true;
    }
    const eviction = this.#evictions.forGang(job, band, shape, this.#evictable);
    if (eviction === undefined) return false;
    this.#evict(entry, band, eviction.victims, eviction.workers);
    return true;
  }

  #firstFit(shape: Shape): number | undefined {
    const { cursor, amounts } = shape;
    // What is more than any worker has free need not be looked for: most tasks, where a cluster is full.
    if (this.#taken >= ceilingAge) {
      this.#ceiling = mostOf(this.#table.free);
      this.#taken = 0;
    }
    if (!fits(amounts, this.#ceiling, 0)) return undefined;
    const { tiers } = shape;
    for (; cursor.tier < tiers.length; cursor.tier += 1, cursor.worker = 0) {
      const tier = tiers[cursor.tier];
      if (tier === undefined) continue;
      for (let worker = nextBit(tier, cursor.worker); worker >= 0; worker = nextBit(tier, worker + 1)) {
        cursor.worker = worker;
        if (fits(amounts, this.#table.free, worker) && (this.#table.starting[worker] as number) < this.#maxStarting) return worker;
      }
    }
    return undefined;
  }

  #evict(entry: Entry, band: Band, victims: readonly PlacedAttempt[], workers: readonly number[]): void {
    const { jobUid, jobId } = entry.job;
    for (const { attemptUid, jobUid: victim } of victims) this.#preempt.push({ attemptUid, jobUid: victim, by: { jobUid, jobId } });
    this.#evictable -= victims.length;
    this.#give(this.#reservations, entry, band, workers);
  }

  /** Gives the next tasks of a job, in order, to these workers. */
  #give(list: Map<string, { readonly jobUid: string; readonly band: Band; readonly places: Place[] }>, entry: Entry, band: Band, workers: readonly number[]): void {
    for (const worker of workers) {
      const taskIndex = entry.rest.pop();
      const name = this.#table.workers[worker]?.name;
      if (taskIndex === undefined || name === undefined) return;
      this.#table.take(worker, entry.shape.amounts);
      this.#taken += 1;
      this.#note(list, entry, band, taskIndex, name, worker);
    }
  }

  #note(list: Map<string, { readonly jobUid: string; readonly band: Band; readonly places: Place[] }>, entry: Entry, band: Band, taskIndex: number, worker: string, index: number): void {
    const { jobUid, gang, resources } = entry.job;
    if (gang === undefined) this.#table.starting[index] = (this.#table.starting[index] as number) + 1;
    if (gang?.groupBy !== undefined && resources.device?.kind === "tpu") this.#table.tpuGangTasks[index] = (this.#table.tpuGangTasks[index] as number) + 1;
    // Tasks of one job may count as different bands: those that were within the budget, and those that came after.
    const key = `${jobUid} ${band}`;
    const given = list.get(key);
    if (given === undefined) list.set(key, { jobUid, band, places: [{ taskIndex, worker }] });
    else given.places.push({ taskIndex, worker });
  }

  result(): Schedule {
    const reserved = new Map<string, number>();
    for (const { jobUid, places } of this.#reservations.values()) reserved.set(jobUid, (reserved.get(jobUid) ?? 0) + places.length);
    const blockages = new Map<Shape, Blockage>();
    const reasons = new Map<string, PendingReason>();
    for (const { job, shape, rest, overBudget } of this.#entries) {
      const held = reserved.get(job.jobUid) ?? 0;
      if (rest.length + held === 0) continue;
      let blockage: Blockage | undefined;
      if (rest.length === 0) {
        blockage = { dimension: "preemption", text: `waits for tasks that are being stopped: ${String(held)} of its tasks get their places`, withRoom: 0 };
      } else if (job.gang !== undefined) {
        blockage = gangBlockageOf(this.#table, shape, job);
      } else {
        blockage = blockages.get(shape) ?? blockageOf(this.#table, shape, this.#maxStarting);
        blockages.set(shape, blockage);
      }
      const facts = { workers: this.#table.size, possible: shape.possibleCount, waiting: rest.length + held };
      reasons.set(job.jobUid, reasonOf(blockage, overBudget === undefined ? facts : { ...facts, overBudget }));
    }
    return { assign: [...this.#assigned.values()], preempt: this.#preempt, reasons, reservations: [...this.#reservations.values()] };
  }
}
