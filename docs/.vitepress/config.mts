import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitepress";
import { root, sidebar, siteFile, siteLink } from "../site/pages.mjs";

const vitepress = dirname(createRequire(import.meta.url).resolve("vitepress/package.json"));

export default defineConfig({
  title: "Marin for TypeScript",
  description: "From raw text to a trained, evaluated, served language model, in plain Node.",
  lang: "en",
  // Pages stand where their subject does: a package's README is its page.
  srcDir: root,
  srcExclude: ["README.md", "docs/README.md", "packages/*/test/**", "packages/*/src/**", "experiments/tutorials/**", "experiments/test/**", "infra/*/**", "bench/peers/**", "tools/**"],
  rewrites: (file) => siteFile(file) ?? file,
  outDir: fileURLToPath(new URL("../dist", import.meta.url)),
  cacheDir: fileURLToPath(new URL("../node_modules/.vitepress", import.meta.url)),
  cleanUrls: true,
  vite: {
    plugins: [
      {
        // Pages outside this folder become modules that import Vue, which only VitePress has, and the root cannot find VitePress's own parts to prepare.
        name: "pages-use-the-vue-of-vitepress",
        enforce: "pre",
        resolveId(id, importer, options) {
          return /^vue(?:\/|$)/.test(id) && importer?.endsWith(".md") ? this.resolve(id, join(vitepress, "dist/client/index.js"), { ...options, skipSelf: true }) : undefined;
        },
        configResolved({ optimizeDeps }) {
          optimizeDeps.include = (optimizeDeps.include ?? []).filter((dependency) => !dependency.startsWith("vitepress > "));
        },
      },
    ],
    build: { chunkSizeWarningLimit: 2_000 },
    publicDir: false,
    server: { watch: { ignored: ["**/.git/**", "**/.marin/**", "**/dist/**", "**/.turbo/**"] } },
  },
  markdown: {
    config(markdown) {
      // Links are written for the repository; here they become the site's, before VitePress looks for dead ones. A file that is no page is named.
      markdown.core.ruler.push("repository-links", ({ env, tokens }: { env: { path: string; realPath?: string }; tokens: Token[] }) => {
        const page = (env.realPath ?? env.path).slice(root.length);
        for (const { children } of tokens.filter(({ type }) => type === "inline")) {
          children?.forEach((token, index) => {
            const link = token.type === "link_open" ? token.attrGet("href") : null;
            if (link === null) return;
            const target = siteLink(page, link);
            if (target !== undefined) {
              token.attrSet("href", target);
              return;
            }
            const close = children.find((other, after) => after > index && other.type === "link_close");
            for (const part of [token, close]) {
              Object.assign(part ?? {}, { type: "text", tag: "", content: "", nesting: 0, attrs: null });
            }
          });
        }
      });
    },
  },
  themeConfig: {
    nav: [
      { text: "The first hour", link: "/first-hour" },
      { text: "Packages", link: "/packages/marin" },
      { text: "API", link: "/api/" },
    ],
    sidebar,
    outline: [2, 3],
    search: { provider: "local" },
  },
});

/** What is used of markdown-it's tokens. */
interface Token {
  type: string;
  attrGet(name: string): string | null;
  attrSet(name: string, value: string): void;
  children: Token[] | null;
}

