import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const program = fileURLToPath(new URL("./fixtures/bounded-shuffle.ts", import.meta.url));

/** What is shuffled, and in how much memory. */
export interface BoundedShuffle {
  readonly rows: number;
  readonly rowBytes: number;
  readonly memoryBytes: number;
  /** Share of the rows that have one key. */
  readonly hotShare: number;
}

/** What came of it. */
export interface BoundedResult {
  readonly groups: number;
  readonly rows: number;
  readonly sum: number;
  /** Rows of the largest group. */
  readonly hot: number;
  readonly sorted: boolean;
  readonly peakBytes: number;
  /** What was left in the directory of temporary files. */
  readonly left: readonly string[];
}

/** Runs the shuffle in a process of its own, whose heap is 256 MB. */
export async function boundedShuffle({ rows, rowBytes, memoryBytes, hotShare }: BoundedShuffle): Promise<BoundedResult> {
  const temporary = await mkdtemp(join(tmpdir(), "zephyr-bounded-"));
  try {
    const { stdout } = await run(process.execPath, ["--max-old-space-size=256", "--conditions=@marin/source", "--import", "tsx", program, ...[rows, rowBytes, memoryBytes, hotShare].map(String)], { env: { ...process.env, TMPDIR: temporary } });
    return JSON.parse(stdout) as BoundedResult;
  } finally {
    await rm(temporary, { recursive: true, force: true });
  }
}

/** The same, counted without any shuffle. */
export function expectedOf({ rows, hotShare }: BoundedShuffle): Pick<BoundedResult, "groups" | "rows" | "sum" | "hot" | "sorted" | "left"> {
  const groups = new Set<number>();
  let hot = 0;
  for (let value = 0; value < rows; value++) {
    const hash = Math.imul(value, 0x9e3779b1) >>> 0;
    if (hash % 1000 < hotShare * 1000) hot += 1;
    else groups.add(hash % (rows / 10));
  }
  return { groups: groups.size + 1, rows, sum: (rows * (rows - 1)) / 2, hot, sorted: true, left: [] };
}
