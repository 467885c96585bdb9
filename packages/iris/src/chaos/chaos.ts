import { setTimeout as delay } from "node:timers/promises";
import { seededRandom } from "@marin/rigging";
import { MarinError } from "../platform.js";

/** Places of the runtime where failures and delays can be asked for. */
const chaosPoints = ["bundle.download", "process.start", "worker.register", "worker.reconcile", "worker.report", "log.append"] as const;

/**
 * A place of the runtime. "bundle.download": before a worker fetches a bundle. "process.start": before a task's process is started. "worker.register":
 * when a worker and its controller meet. "worker.reconcile": when a worker is told what it is to run. "worker.report": before a batch of reports is
 * handed over. "log.append": when a worker writes lines to its disk.
 */
export type ChaosPoint = (typeof chaosPoints)[number];

/** What happens at a {@link ChaosPoint}. */
export interface ChaosOptions {
  /** Share of the passes that are hit, 0 to 1. Default 1. */
  readonly rate?: number;
  /** Delay of each hit, in milliseconds; "log.append" is never delayed. Default 0. */
  readonly delayMs?: number;
  /** Whether a hit fails, with MarinError IRIS_CHAOS; otherwise it is delayed only. Default: where no delay is given. */
  readonly fail?: boolean;
  /** Hits after which nothing happens any more. Default: no end. */
  readonly maxCount?: number;
  /** Begins the sequence that decides which passes are hit. Default 1. */
  readonly seed?: number;
}

interface Injection {
  readonly options: ChaosOptions;
  readonly random: () => number;
  count: number;
}

/** Hands the injections on to a worker's process. */
export const chaosVariable = "MARIN_IRIS_CHAOS";

const injections = new Map<ChaosPoint, Injection>();

/** Failures and delays on purpose, for tests of what is built on iris. They reach this process, and the daemons that it starts from then on. */
export const chaos = {
  /** The places. */
  points: chaosPoints,
  /**
   * Asks for failures or delays at a place, instead of what was asked for there before.
   *
   * @param point - where
   * @param options - how often and what
   * @throws MarinError IRIS_BAD_CHAOS for a place that does not exist, or a rate that is none
   */
  inject(point: ChaosPoint, options: ChaosOptions = {}): void {
    const { rate = 1, delayMs = 0, seed = 1 } = options;
    if (!chaosPoints.includes(point) || !(rate >= 0 && rate <= 1) || !(delayMs >= 0)) {
      throw new MarinError("IRIS_BAD_CHAOS", `Chaos needs one of the points ${chaosPoints.join(", ")}, a rate from 0 to 1 and a delay of 0 ms or more, found ${JSON.stringify({ point, ...options })}.`, { data: { point } });
    }
    injections.set(point, { options, random: seededRandom(seed), count: 0 });
  },
  /** How often a place was hit since it was asked for. */
  count(point: ChaosPoint): number {
    return injections.get(point)?.count ?? 0;
  },
  /** Takes back all that was asked for: after each test. */
  reset(): void {
    injections.clear();
  },
} as const;

/** For daemons: the variables that hand on what was asked for. */
export function chaosEnvironment(): Record<string, string> {
  if (injections.size === 0) return {};
  return { [chaosVariable]: JSON.stringify([...injections].map(([point, { options }]) => [point, options])) };
}

/** Asks for what {@link chaosEnvironment} of the starting process says. */
export function inheritChaos(): void {
  const text = process.env[chaosVariable];
  if (text === undefined) return;
  for (const [point, options] of JSON.parse(text) as [ChaosPoint, ChaosOptions][]) chaos.inject(point, options);
}

/** A place: does what was asked for there. @throws MarinError IRIS_CHAOS */
export async function chaosAt(point: ChaosPoint): Promise<void> {
  const hit = hitAt(point);
  if (hit === undefined) return;
  if (hit.delayMs !== undefined && hit.delayMs > 0) await delay(hit.delayMs);
  failAt(point, hit);
}

/** As {@link chaosAt}, without the delay. @throws MarinError IRIS_CHAOS */
export function chaosNow(point: ChaosPoint): void {
  const hit = hitAt(point);
  if (hit !== undefined) failAt(point, hit);
}

function hitAt(point: ChaosPoint): ChaosOptions | undefined {
  const injection = injections.get(point);
  if (injection === undefined) return undefined;
  const { rate = 1, maxCount = Infinity } = injection.options;
  if (injection.count >= maxCount || injection.random() >= rate) return undefined;
  injection.count += 1;
  return injection.options;
}

function failAt(point: ChaosPoint, { fail, delayMs }: ChaosOptions): void {
  if (fail ?? delayMs === undefined) throw new MarinError("IRIS_CHAOS", `A failure on purpose at ${point}.`, { data: { point } });
}
