import { align } from "../table.js";
import type { RpcRow, RpcSide, RpcSpeedup } from "./comparison.js";

const MIB = 2 ** 20;

const HEADER = ["", "calls/s", "best", "p50", "best", "p99", "best", "stream MB/s", "best", "client", "server"];

/** One row for people, several lines. */
export function formatRpcRow(row: RpcRow): string {
  if ("unmeasured" in row) return `against ${row.peer}\n  unmeasured: ${row.unmeasured}`;
  const { calibration, ducky, other, byMedian, byBest } = row;
  return [
    `against ${row.peer}`,
    ...align([HEADER, sideCells(ducky), sideCells(other)]),
    `  ducky is better by medians: ${speedup(byMedian)}`,
    `  ducky is better by the best: ${speedup(byBest)}`,
    `  calibration: ${calibration.roundTripsPerSecond.toFixed(0)} round trips/s over loopback, ${calibration.turnsPerSecond.toFixed(0)} turns/s of JSON`,
  ].join("\n");
}

function sideCells({ version, callsPerSecond, latency, streamMegabytesPerSecond, peakBytes }: RpcSide): string[] {
  const time = (milliseconds: number): string => `${milliseconds.toFixed(3)} ms`;
  const memory = (bytes: number): string => `${(bytes / MIB).toFixed(0)} MiB`;
  return [
    version,
    callsPerSecond.median.toFixed(0),
    callsPerSecond.best.toFixed(0),
    time(latency.p50),
    time(latency.bestP50),
    time(latency.p99),
    time(latency.bestP99),
    streamMegabytesPerSecond.median.toFixed(0),
    streamMegabytesPerSecond.best.toFixed(0),
    memory(peakBytes.client),
    memory(peakBytes.server),
  ];
}

function speedup({ calls, p50, p99, stream }: RpcSpeedup): string {
  return `calls ${calls.toFixed(1)}x, p50 ${p50.toFixed(1)}x, p99 ${p99.toFixed(1)}x, stream ${stream.toFixed(1)}x`;
}
