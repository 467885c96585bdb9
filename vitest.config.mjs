import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: { conditions: ["@marin/source"] },
  ssr: { resolve: { conditions: ["@marin/source"] } },
  test: { environment: "node", pool: "forks" },
});
