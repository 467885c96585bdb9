import { test } from "vitest";
import { checkComponents } from "../../../test/check-components.js";

test("Connected components: a chain of 10,000, a star of 10,000 and 100 cliques have union-find's labels, the same bytes for 8 shards with workers and for 1", async () => {
  await checkComponents({ size: 10_000, cliques: 100, runs: [[8, 2], [1, 0]] });
});
