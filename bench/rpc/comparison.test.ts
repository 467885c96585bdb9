import { describe, expect, it, test } from "vitest";
import { bench } from "../rpc.js";
import { UsageError } from "../usage.js";
import { compareSides, summarizeSide } from "./comparison.js";
import type { RpcReport } from "./measure.js";
import { formatRpcRow } from "./table.js";

function reportOf(calls: number[], p50: number, streams: number[], peakBytes: number): RpcReport {
  return { version: "test 1", callsPerSecond: calls, latency: { p50, p99: 3 * p50, least: p50 / 2 }, streamMegabytesPerSecond: streams, peakBytes, serverPeakBytes: 2 * peakBytes };
}

const fast = summarizeSide([reportOf([900, 1_000, 1_100], 0.1, [400, 500], 2 ** 20), reportOf([800, 1_200, 1_000], 0.3, [300, 600], 3 * 2 ** 20)]);
const slow = summarizeSide([reportOf([100, 90, 110], 1, [50, 40], 2 ** 20)]);

describe("a side of a comparison of calls", () => {
  it("takes medians and the best over all rounds, and the largest peak", () => {
    expect(fast).toMatchObject({ callsPerSecond: { median: 1_000, best: 1_200 }, streamMegabytesPerSecond: { median: 450, best: 600 }, peakBytes: { client: 3 * 2 ** 20, server: 6 * 2 ** 20 } });
    expect(fast.latency).toMatchObject({ p50: 0.2, bestP50: 0.1 });
    expect(fast.latency.p99).toBeCloseTo(0.6);
  });
});

describe("a comparison of calls", () => {
  it("states everything so that more is better", () => {
    const { byMedian, byBest } = compareSides(fast, slow);
    expect(byMedian).toEqual({ calls: 10, p50: 5, p99: expect.closeTo(5), stream: 10 });
    expect(byBest).toEqual({ calls: expect.closeTo(1_200 / 110), p50: 10, p99: expect.closeTo(10), stream: 12 });
  });

  it("is printed with both sides, and with the reason where there is none", () => {
    const row = formatRpcRow({ peer: "grpc", calibration: { roundTripsPerSecond: 30_000, turnsPerSecond: 200_000 }, ...compareSides(fast, slow) });
    expect(row).toContain("calls 10.0x, p50 5.0x");
    expect(row).toContain("30000 round trips/s");
    expect(formatRpcRow({ peer: "grpc", unmeasured: "it failed" })).toBe("against grpc\n  unmeasured: it failed");
  });
});

test("an unknown peer and a wrong number are told as such", async () => {
  await expect(bench(["--peers", "thrift"])).rejects.toThrow(UsageError);
  await expect(bench(["--rounds", "0"])).rejects.toThrow("--rounds 0");
  await expect(bench(["--nonsense"])).rejects.toThrow(UsageError);
});
