import { test } from "vitest";
import { checkComponents } from "../../../test/check-components.js";

test("Connected components: a chain of 100,000, a star of 100,000 and 1,000 cliques have union-find's labels, the same bytes for 1, 2 and 8 shards", async () => {
  await checkComponents({ size: 100_000, cliques: 1000, runs: [[8, 2], [2, 2], [1, 0]] });
});
