import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { bench, usage } from "./actors.js";
import type { ActorsReport } from "./peers/actors-protocol.js";

const workload = ["--calls", "20", "--in-flight", "200", "--items", "100", "--transfers", "3"];

test.each([
  ["fray, thread", "fray-actors.ts", ["--kind", "thread"]],
  ["fray, process", "fray-actors.ts", ["--kind", "process"]],
  ["comlink 4.4.2", "comlink-actors.ts", []],
  ["piscina 5.3.2", "piscina-actors.ts", []],
])("%s answers rightly, and each of its figures is measured", (version, program, flags) => {
  const file = fileURLToPath(new URL(`./peers/${program}`, import.meta.url));
  const printed = execFileSync(process.execPath, ["--conditions=@marin/source", "--import", "tsx", file, ...flags, ...workload], { encoding: "utf8" });
  const report = JSON.parse(printed) as ActorsReport;
  expect(report.version).toBe(version);
  for (const figure of [report.calls, report.callsInFlight, report.transfers, report.peakBytes]) expect(figure).toBeGreaterThan(0);
  if (version.startsWith("piscina")) expect(report.items).toBeNull();
  else expect(report.items).toBeGreaterThan(0);
});

test("the command line is checked", async () => {
  await expect(bench(["--peers", "carrier-pigeon"])).rejects.toThrow("there are fray-thread, comlink");
  await expect(bench(["--rounds", "0"])).rejects.toThrow("--rounds 0");
  await expect(bench(["--nonsense"])).rejects.toThrow("nonsense");
  expect(usage).toContain("ray");
});
