import { describe, expect, it } from "vitest";
import { bench } from "./scheduler.js";
import { MIXES } from "./scheduler/mixes.js";
import { UsageError } from "./usage.js";

describe("pnpm bench scheduler", () => {
  it("measures each mix and accounts for every task", async () => {
    const { benchmark, tick } = JSON.parse(await bench(["--sections", "tick", "--tasks", "400", "--workers", "20", "--rounds", "1", "--json"])) as { benchmark: string; tick: Record<string, number | string>[] };
    expect(benchmark).toBe("scheduler");
    expect(tick.map(({ mix }) => mix)).toEqual(Object.keys(MIXES));
    expect(tick[0]).toMatchObject({ tasks: 400, workers: 20, placed: 400, evicted: 0, reasons: 0 });
    expect(tick[1]).toMatchObject({ placed: 0, reasons: 100 });
    expect(tick[3]?.["evicted"]).toBeGreaterThan(0);
    for (const { minimumMilliseconds } of tick) expect(minimumMilliseconds).toBeGreaterThan(0);
  });

  it("measures the controller, and counts what it takes", async () => {
    const { control } = JSON.parse(await bench(["--sections", "control", "--tasks", "100", "--workers", "50", "--finished", "1000", "--json"])) as { control: Record<string, number>[] };
    expect(control[0]).toMatchObject({ tasks: 100, workers: 50, followers: 50, finishedTasks: 1000 });
    for (const value of Object.values(control[0] ?? {})) expect(value).toBeGreaterThan(0);
  }, 120_000);

  it("prints tables, and refuses what it does not know", async () => {
    expect(await bench(["--sections", "tick", "--tasks", "100", "--workers", "10", "--rounds", "1"])).toMatch(/one decision of the scheduler\n +tasks +workers/);
    await expect(bench(["--sections", "clock"])).rejects.toThrow(UsageError);
    await expect(bench(["--tasks", "150"])).rejects.toThrow("must be a multiple of 100");
    await expect(bench(["--jobbs", "1"])).rejects.toThrow(UsageError);
  });
});
