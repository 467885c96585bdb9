import type { Band } from "../jobs/job-spec.js";
import { type Amounts, addTo, amountsOf, fits } from "./amounts.js";
import { nextBit } from "./bits.js";
import { rankOf } from "./fair-share.js";
import { fitGang } from "./gangs.js";
import type { Shape } from "./shapes.js";
import type { PlacedAttempt, WaitingJob } from "./snapshot.js";
import type { WorkerTable } from "./worker-table.js";

/** An attempt that could be evicted. */
interface Candidate {
  readonly placed: PlacedAttempt;
  readonly amounts: Amounts;
  readonly worker: number;
}

/** Who goes, and where the beneficiary's tasks then have room. */
export interface Eviction {
  readonly victims: readonly PlacedAttempt[];
  readonly workers: readonly number[];
}

/** Gangs whose eviction is tried in one decision; so that many waiting gangs cannot make it slow. */
const maxGangTrials = 256;

/**
 * Finds whom to evict. Only lower bands, as stamped at assignment, make place for higher ones; nobody makes place for a job of the same user that was declared no higher. A task makes
 * place for a task, a whole gang for a gang that is not larger, on devices of the same kind. Nothing is evicted that does not make room for its beneficiary.
 */
export class Evictions {
  readonly #table: WorkerTable;
  readonly #maxStarting: number;
  readonly #byWorker: Candidate[][];
  readonly #gangs = new Map<string, Candidate[]>();
  readonly #gone = new Set<PlacedAttempt>();
  /** By rank of the beneficiary: what evictable attempts of lower bands have, four amounts to a worker; more than it may be, never less. */
  readonly #below: readonly Float64Array[];
  /** Requests that found nobody: they would not later on in the same decision. */
  readonly #hopeless = new Set<string>();
  #gangTrials = 0;

  /**
   * @param table - the workers
   * @param placed - what has a place
   * @param maxStarting - attempts of a worker that may start at a time
   */
  constructor(table: WorkerTable, placed: readonly PlacedAttempt[], maxStarting: number) {
    this.#table = table;
    this.#maxStarting = maxStarting;
    this.#byWorker = table.workers.map(() => []);
    this.#below = [new Float64Array(table.size * 4), new Float64Array(table.size * 4)];
    for (const attempt of placed) {
      const worker = table.indexOf.get(attempt.worker);
      if (worker === undefined || attempt.stopping) continue;
      const candidate = { placed: attempt, amounts: amountsOf(attempt.resources), worker };
      if (attempt.gang === undefined) {
        this.#byWorker[worker]?.push(candidate);
        for (const [rank, sums] of this.#below.entries()) if (rankOf(attempt.band) > rank) addTo(sums, worker, candidate.amounts, 1);
      } else {
        const gang = this.#gangs.get(attempt.jobUid);
        if (gang === undefined) this.#gangs.set(attempt.jobUid, [candidate]);
        else gang.push(candidate);
      }
    }
    for (const candidates of this.#byWorker) candidates.sort(leastLossFirst);
  }

  /** Whom one task evicts, of at most `most` victims. They are taken as gone. */
  forTask(job: WaitingJob, band: Band, shape: Shape, most: number): Eviction | undefined {
    const sums = this.#below[rankOf(band)];
    const key = keyOf(job, band, shape);
    if (sums === undefined || this.#hopeless.has(key)) return undefined;
    let best: { readonly worker: number; readonly victims: readonly Candidate[] } | undefined;
    for (const tier of shape.tiers) {
      for (let worker = nextBit(tier, 0); worker >= 0; worker = nextBit(tier, worker + 1)) {
        if ((this.#table.starting[worker] as number) >= this.#maxStarting || !this.#couldFit(shape.amounts, sums, worker)) continue;
        const victims = this.#victimsOn(worker, job, band, shape.amounts);
        if (victims !== undefined && victims.length <= most && (best === undefined || lessLoss(victims, best.victims))) best = { worker, victims };
      }
    }
    if (best === undefined) {
      this.#hopeless.add(key);
      return undefined;
    }
    for (const victim of best.victims) this.#remove(victim);
    return { victims: best.victims.map(({ placed }) => placed), workers: [best.worker] };
  }

  /** Which gang a gang evicts, of at most `most` tasks. */
  forGang(job: WaitingJob, band: Band, shape: Shape, most: number): Eviction | undefined {
    const size = job.taskIndexes.length;
    const key = keyOf(job, band, shape);
    if (this.#hopeless.has(key)) return undefined;
    const gangs = [...this.#gangs.values()]
      .filter((gang) => gang.length >= size && gang.length <= most && gang.every(({ placed }) => !this.#gone.has(placed) && mayEvict(job, band, placed)))
      .sort((a, b) => lossOrder(a, b));
    for (const gang of gangs) {
      if (this.#gangTrials >= maxGangTrials) return undefined;
      this.#gangTrials += 1;
      this.#shift(gang, 1);
      const { workers } = fitGang(this.#table, this.#table.soon, shape, size, job.gang?.groupBy);
      if (workers !== undefined) {
        for (const { placed } of gang) this.#gone.add(placed);
        return { victims: gang.map(({ placed }) => placed), workers };
      }
      this.#shift(gang, -1);
    }
    this.#hopeless.add(key);
    return undefined;
  }

  #couldFit(asked: Amounts, sums: Float64Array, worker: number): boolean {
    for (const [dimension, amount] of asked.entries()) {
      const at = worker * 4 + dimension;
      if (amount > 0 && amount > (this.#table.soon[at] as number) + (sums[at] as number)) return false;
    }
    return true;
  }

  /** The fewest of a worker's attempts that make room, least loss first; undefined when all together do not, [] when there is room soon without any. */
  #victimsOn(worker: number, job: WaitingJob, band: Band, asked: Amounts): Candidate[] | undefined {
    const room = this.#table.soon.slice(worker * 4, worker * 4 + 4);
    const victims: Candidate[] = [];
    for (const candidate of this.#byWorker[worker] ?? []) {
      if (fits(asked, room, 0)) break;
      if (this.#gone.has(candidate.placed) || !mayEvict(job, band, candidate.placed)) continue;
      addTo(room, 0, candidate.amounts, 1);
      victims.push(candidate);
    }
    if (!fits(asked, room, 0)) return undefined;
    // A later one may have made an earlier one's going needless: spare the greatest loss first.
    return victims.reverse().filter(({ amounts }) => {
      addTo(room, 0, amounts, -1);
      if (fits(asked, room, 0)) return false;
      addTo(room, 0, amounts, 1);
      return true;
    });
  }

  #remove(victim: Candidate): void {
    this.#gone.add(victim.placed);
    addTo(this.#table.soon, victim.worker, victim.amounts, 1);
    for (const [rank, sums] of this.#below.entries()) if (rankOf(victim.placed.band) > rank) addTo(sums, victim.worker, victim.amounts, -1);
  }

  /** Takes a gang out of what will be there soon, or puts it back. */
  #shift(gang: readonly Candidate[], sign: 1 | -1): void {
    for (const { worker, amounts, placed } of gang) {
      addTo(this.#table.soon, worker, amounts, sign);
      if (placed.resources.device?.kind === "tpu") this.#table.tpuGangTasks[worker] = (this.#table.tpuGangTasks[worker] as number) - sign;
    }
  }
}

/** Whether the rules let the job, counted as that band, take the place of the attempt. */
function mayEvict(job: WaitingJob, band: Band, placed: PlacedAttempt): boolean {
  if (rankOf(placed.band) <= rankOf(band)) return false;
  // What a user runs beyond the budget would only change places with what the same user runs within it.
  if (placed.user === job.user && rankOf(placed.declaredBand) <= rankOf(job.band)) return false;
  return (placed.resources.device?.kind ?? "cpu") === (job.resources.device?.kind ?? "cpu");
}

function keyOf({ band: declared, user, gang, taskIndexes }: WaitingJob, band: Band, { id }: Shape): string {
  const size = gang === undefined ? "" : `${String(taskIndexes.length)} ${gang.groupBy ?? ""}`;
  return `${String(id)} ${band} ${declared} ${user} ${size}`;
}

/** The lowest band goes first, then what was assigned last: it has done least. */
function leastLossFirst(a: Candidate, b: Candidate): number {
  return rankOf(b.placed.band) - rankOf(a.placed.band) || b.placed.assignedAt - a.placed.assignedAt || (a.placed.attemptUid < b.placed.attemptUid ? -1 : 1);
}

function lessLoss(a: readonly Candidate[], b: readonly Candidate[]): boolean {
  return lossOrder(a, b) < 0;
}

/** The higher the highest band that has to go, the worse; then the number; then how long the oldest has had its place. */
function lossOrder(a: readonly Candidate[], b: readonly Candidate[]): number {
  const highest = (all: readonly Candidate[]): number => Math.min(...all.map(({ placed }) => rankOf(placed.band)));
  const oldest = (all: readonly Candidate[]): number => Math.min(...all.map(({ placed }) => placed.assignedAt));
  return highest(b) - highest(a) || a.length - b.length || oldest(b) - oldest(a);
}
