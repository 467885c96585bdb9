import { execFile } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

interface Joined {
  readonly pairs: number;
  readonly sum: number;
  readonly peakBytes: number;
  readonly left: readonly string[];
}

async function joined(rows: number): Promise<Joined> {
  const directory = await mkdtemp(join(tmpdir(), "zephyr-join-"));
  try {
    const program = fileURLToPath(new URL("../../test/fixtures/bounded-join.ts", import.meta.url));
    const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", "tsx", program, String(rows)], { env: { ...process.env, TMPDIR: directory } });
    return JSON.parse(stdout) as Joined;
  } finally {
    await rm(directory, { recursive: true });
  }
}

/** The pairs, and the sum of their ids and of the right rows' numbers, in closed form. */
function expected(rows: number): Pick<Joined, "pairs" | "sum" | "left"> {
  const [hot, repeated] = [Math.floor(rows / 3), Math.floor(rows / 2)];
  let [pairs, sum] = [0, 0];
  for (let id = 0; id < rows; id++) {
    const copies = id === hot ? rows / 10 : id === repeated ? rows / 50 : id % 2;
    const lefts = id === repeated ? 3 : 1;
    pairs += lefts * copies;
    sum += lefts * (copies * id + (copies * (copies - 1)) / 2);
  }
  return { pairs, sum, left: [] };
}

test("Merge join: memory is flat at a million rows a side, keys with many rows on one side and on both among them", async () => {
  const few = await joined(50_000);
  const { peakBytes, ...result } = await joined(1_000_000);
  expect(result).toEqual(expected(1_000_000));
  expect(peakBytes).toBeLessThan(few.peakBytes + 48e6);
});
