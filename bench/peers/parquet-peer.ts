/** One library's side of `pnpm bench parquet`, in a process of its own: the phase once to warm up, and then timed. */
import { stat } from "node:fs/promises";
import { parseArgs } from "node:util";
import { SIDES, type SideName } from "../parquet/sides.js";
import { makeRows, TWO_COLUMNS } from "../parquet/workload.js";
import type { ParquetReport } from "../parquet/protocol.js";

const { values } = parseArgs({
  options: { side: { type: "string", default: "" }, phase: { type: "string", default: "" }, path: { type: "string", default: "" }, megabytes: { type: "string", default: "1" }, repeats: { type: "string", default: "3" }, threads: { type: "string" } },
});
const { side } = await SIDES[values.side as SideName].load();
const megabytes = Number(values.megabytes);

const rows = values.phase === "write" ? makeRows(megabytes) : [];

/** What is read must be used, or it might not be made. */
let seen = 0;
async function once(): Promise<void> {
  if (values.phase === "write") return side.write?.(values.path, rows);
  seen = 0;
  await side.read?.(values.path, values.phase === "columns" ? TWO_COLUMNS : undefined, (row) => {
    seen += values.phase === "columns" ? Number(row["id"] !== undefined) : (row["text"] as string).length;
  });
}

const times: { seconds: number; cpuSeconds: number }[] = [];
const repeats = (values.phase === "write" ? "write" : "read") in side ? Number(values.repeats) : -1;
for (let repeat = 0; repeat <= repeats; repeat += 1) {
  const [start, cpu] = [performance.now(), process.cpuUsage()];
  await once();
  const { user, system } = process.cpuUsage(cpu);
  // The first one warms up.
  if (repeat > 0) times.push({ seconds: (performance.now() - start) / 1000, cpuSeconds: (user + system) / 1e6 });
}
const bytes = values.phase === "write" && times.length > 0 ? (await stat(values.path)).size : undefined;
const report: ParquetReport = { version: side.version, times, seen, bytes, peakBytes: process.resourceUsage().maxRSS * 1024 };
// A library's own threads would keep the process.
process.stdout.write(`${JSON.stringify(report)}\n`, () => process.exit(0));
