/** Builds the site into `dist/` (`--out <folder>`: elsewhere), or serves it with `--dev`. Needs no network. */
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { build, createServer } from "vitepress";
import { writeApi } from "./site/api.mjs";

const { values } = parseArgs({ options: { dev: { type: "boolean", default: false }, out: { type: "string" } } });
const folder = fileURLToPath(new URL(".", import.meta.url));
await writeApi();
if (values.dev) {
  const server = await createServer(folder);
  await server.listen();
  server.printUrls();
} else {
  await build(folder, values.out === undefined ? {} : { outDir: values.out });
}
