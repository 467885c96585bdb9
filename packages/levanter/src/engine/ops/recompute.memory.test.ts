import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const script = fileURLToPath(new URL("../../../test/recompute-child.ts", import.meta.url));

interface Measured {
  readonly grownBytes: number;
  readonly heldBytes: number;
  readonly flops: number;
}

async function measured(how: "plain" | "recompute"): Promise<Measured> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, how]);
  return JSON.parse(stdout) as Measured;
}

it("a deep network computed twice takes a fraction of the memory, in the process as in the plan, and at most a third more operations", async () => {
  const plain = await measured("plain");
  const twice = await measured("recompute");
  expect(twice.heldBytes).toBeLessThan(plain.heldBytes / 4);
  // Seen: 169 MB and 39 MB.
  expect(twice.grownBytes).toBeLessThan(plain.grownBytes / 2);
  expect(twice.flops).toBeGreaterThan(plain.flops);
  expect(twice.flops).toBeLessThan(plain.flops * (4 / 3));
}, 60_000);
