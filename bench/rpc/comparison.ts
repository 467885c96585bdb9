import { median, minimum } from "../statistics.js";
import type { RpcReport } from "./measure.js";

/** What the machine gave right before a row. */
export interface Calibration {
  /** Round trips of 100 bytes over loopback TCP within one process, each second. */
  readonly roundTripsPerSecond: number;
  /** Turns of a loop of JSON on one core, each second. */
  readonly turnsPerSecond: number;
}

/** One implementation over all rounds. Medians, and the best of all, which is what the least disturbed moment gave. */
export interface RpcSide {
  readonly version: string;
  readonly callsPerSecond: { readonly median: number; readonly best: number };
  /** In milliseconds. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly bestP50: number; readonly bestP99: number };
  readonly streamMegabytesPerSecond: { readonly median: number; readonly best: number };
  /** The largest of all rounds. */
  readonly peakBytes: { readonly client: number; readonly server: number };
}

/** How many times better ducky is: more calls, shorter latency, more bytes. */
export interface RpcSpeedup {
  readonly calls: number;
  readonly p50: number;
  readonly p99: number;
  readonly stream: number;
}

/** A comparison. */
export interface RpcComparison {
  readonly ducky: RpcSide;
  readonly other: RpcSide;
  readonly byMedian: RpcSpeedup;
  readonly byBest: RpcSpeedup;
}

/** A line of the result: a comparison, or why there is none. */
export type RpcRow = { readonly peer: string } & ({ readonly unmeasured: string } | ({ readonly calibration: Calibration } & RpcComparison));

/** Puts the rounds of one implementation together. */
export function summarizeSide(reports: readonly RpcReport[]): RpcSide {
  const calls = reports.flatMap(({ callsPerSecond }) => callsPerSecond);
  const streams = reports.flatMap(({ streamMegabytesPerSecond }) => streamMegabytesPerSecond);
  const [p50s, p99s] = [reports.map(({ latency }) => latency.p50), reports.map(({ latency }) => latency.p99)];
  return {
    version: reports[0]?.version ?? "",
    callsPerSecond: { median: median(calls), best: Math.max(...calls) },
    latency: { p50: median(p50s), p99: median(p99s), bestP50: minimum(p50s), bestP99: minimum(p99s) },
    streamMegabytesPerSecond: { median: median(streams), best: Math.max(...streams) },
    peakBytes: { client: Math.max(...reports.map(({ peakBytes }) => peakBytes)), server: Math.max(...reports.map(({ serverPeakBytes }) => serverPeakBytes)) },
  };
}

/** Compares two implementations. */
export function compareSides(ducky: RpcSide, other: RpcSide): RpcComparison {
  return {
    ducky,
    other,
    byMedian: {
      calls: ducky.callsPerSecond.median / other.callsPerSecond.median,
      p50: other.latency.p50 / ducky.latency.p50,
      p99: other.latency.p99 / ducky.latency.p99,
      stream: ducky.streamMegabytesPerSecond.median / other.streamMegabytesPerSecond.median,
    },
    byBest: {
      calls: ducky.callsPerSecond.best / other.callsPerSecond.best,
      p50: other.latency.bestP50 / ducky.latency.bestP50,
      p99: other.latency.bestP99 / ducky.latency.bestP99,
      stream: ducky.streamMegabytesPerSecond.best / other.streamMegabytesPerSecond.best,
    },
  };
}
