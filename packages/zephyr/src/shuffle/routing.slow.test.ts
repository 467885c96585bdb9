import { entry, silentLogger, withLocalContext } from "@marin/iris";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import type { gathered, keyedRecords, keyOf } from "../../test/fixtures/shuffle-work.js";
import { Dataset, execute } from "../index.js";

const module = new URL("../../test/fixtures/shuffle-work.ts", import.meta.url);

test("Routing determinism: keys of every kind have the same shard over 0, 1, 2 and 8 workers, and after a restart", async () => {
  const directory = await mkdtemp(join(tmpdir(), "zephyr-routing-"));
  try {
    const trees: string[][] = [];
    for (const [run, workers] of [0, 1, 2, 8, 2].entries()) {
      const pattern = join(directory, String(run), "{shard}.jsonl");
      const grouped = Dataset.fromArray([1, 2, 3, 4, 5, 6, 7, 8, 9], { shards: 9 })
        .flatMap(entry<typeof keyedRecords>(module, "keyedRecords"))
        .groupBy(entry<typeof keyOf>(module, "keyOf"), entry<typeof gathered>(module, "gathered"), { numOutputShards: 5 });
      await withLocalContext({ log: silentLogger }, () => execute(grouped.writeJsonl(pattern), { workers, memoryBytes: run === 4 ? 4096 : 2 ** 24 }));
      const names = (await readdir(join(directory, String(run)))).filter((name) => name.endsWith(".jsonl")).sort();
      trees.push(await Promise.all(names.map(async (name) => `${name}: ${await readFile(join(directory, String(run), name), "utf8")}`)));
    }
    expect(trees[0]).toHaveLength(5);
    for (const tree of trees) expect(tree).toEqual(trees[0]);
  } finally {
    await rm(directory, { recursive: true });
  }
});
