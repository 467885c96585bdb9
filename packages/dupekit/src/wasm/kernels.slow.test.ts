import { readFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { compileKernels, kernelsSource } from "../../test/build-wasm.js";

test("the kernels that are kept are those that the sources in assembly/ give", async () => {
  const kept = await readFile(new URL("./kernels-binary.ts", import.meta.url), "utf8");
  expect(kept === kernelsSource(await compileKernels()), "run pnpm --filter @marin/dupekit build:wasm").toBe(true);
});
