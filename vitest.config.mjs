import { configDefaults, defineConfig } from "vitest/config";

const conditions = ["@marin/source"];
const slow = "**/*.slow.test.{ts,mjs}";
const soak = "**/*.soak.test.{ts,mjs}";

/**
 * One configuration for all packages. `vitest run` takes the quick tests; `--mode slow` those named `*.slow.test.ts` (minutes), `--mode soak`
 * those named `*.soak.test.ts` (the full counts), which run one file at a time and alone on the machine.
 */
export default defineConfig(({ mode }) => {
  const long = mode === "slow" || mode === "soak";
  return {
    resolve: { conditions },
    ssr: { resolve: { conditions } },
    test: {
      environment: "node",
      pool: "forks",
      include: long ? [mode === "slow" ? slow : soak] : ["**/*.test.{ts,mjs}"],
      exclude: long ? configDefaults.exclude : [...configDefaults.exclude, "**/dist/**", slow, soak],
      passWithNoTests: long,
      fileParallelism: !long,
      testTimeout: long ? 1_800_000 : 30_000,
      hookTimeout: long ? 600_000 : 30_000,
      restoreMocks: true,
      allowOnly: false,
      reporters: ["default"],
    },
  };
});
