import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { beforeAll, describe, expect, it } from "vitest";
import type { OperationDigests } from "../../test/conformance/operation-bits.js";
import { OPERATIONS } from "../../test/conformance/operations.js";
import { promisedBits } from "../../test/conformance/promised-bits.js";

const CHILD = fileURLToPath(new URL("../../test/conformance/hash-operations.ts", import.meta.url));
const names = OPERATIONS.map((operation) => operation.name);

/** Each operation's digests from a process of its own; another order gives tensors other addresses. */
async function digests(threads: number, order: readonly string[]): Promise<Record<string, OperationDigests>> {
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", "tsx", CHILD, String(threads), ...order], { maxBuffer: 1 << 24 });
  return JSON.parse(stdout) as Record<string, OperationDigests>;
}

describe("an operation's values and gradients have the bits that the table of operations promises", () => {
  const found: Record<string, OperationDigests>[] = [];
  beforeAll(async () => {
    for (const [threads, order] of [[1, names], [2, names.toReversed()], [3, names.toReversed()]] as const) found.push(await digests(threads, order));
  }, 300_000);

  it("in three processes, at one, two and three threads", () => {
    const differing = names.filter((name) => promisedBits(name) === "yes" && new Set(found.map((run) => JSON.stringify(run[name]))).size > 1);
    expect(differing).toEqual([]);
  });

  it("of products, in two processes, at one and two threads", () => {
    const [one, two] = found;
    expect(names.filter((name) => promisedBits(name) === "1 and 2 threads" && JSON.stringify(one?.[name]) !== JSON.stringify(two?.[name]))).toEqual([]);
  });
});
