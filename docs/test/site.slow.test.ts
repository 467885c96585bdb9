import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { packages, root, sidebar, siteLink } from "../site/pages.mjs";

const folder = fileURLToPath(new URL("..", import.meta.url));
let site: string;
beforeAll(() => {
  site = mkdtempSync(join(tmpdir(), "marin-site-"));
  const { status, stdout, stderr } = spawnSync(process.execPath, ["build.mjs", "--out", site], { cwd: folder, encoding: "utf8" });
  expect(status, stdout + stderr).toBe(0);
});
afterAll(() => rmSync(site, { recursive: true, force: true }));

const page = (path: string): string => readFileSync(join(site, path), "utf8");
const pages = (): string[] => (readdirSync(site, { recursive: true }) as string[]).filter((file) => file.endsWith(".html")).sort();

describe("the built site", () => {
  it("has a page for each entry of its menu, and none that its map does not name", () => {
    for (const { link } of sidebar.flatMap(({ items }) => items)) {
      expect(existsSync(join(site, link.endsWith("/") ? `${link}index.html` : `${link}.html`)), link).toBe(true);
    }
    expect(pages().filter((file) => /README|docs\//.test(file))).toEqual([]);
  });

  it("shows each package's README and its exports with their TSDoc", () => {
    for (const name of packages) {
      const first = /^# (.*)$/m.exec(readFileSync(join(root, "packages", name, "README.md"), "utf8"))?.[1];
      expect(page(`packages/${name}.html`)).toContain(first);
      expect(page(`api/${name}.html`)).toMatch(/<h[23][^>]*>/);
    }
    expect(page("api/dupekit.html")).toContain("MinHash");
  });

  it("shows the package graph and needs no other host", () => {
    expect(page("architecture.html")).toMatch(/<img src="(?:\/assets\/package-graph[^"]*\.svg|data:image\/svg)/);
    for (const file of pages()) {
      expect(page(file), file).not.toMatch(/<(?:script|link|img)[^>]+(?:src|href)="(?:https?:)?\/\//);
    }
  });
});

describe("a link of a page", () => {
  it("leads to the site's page, names a file that is none, and stays dead where nothing is", () => {
    expect(siteLink("packages/iris/README.md", "../rigging/README.md#errors")).toBe("/packages/rigging#errors");
    expect(siteLink("docs/architecture.md", "../packages/iris")).toBe("/packages/iris");
    expect(siteLink("docs/architecture.md", "decisions")).toBe("/decisions/");
    expect(siteLink("packages/iris/README.md", "src/index.ts")).toBeUndefined();
    expect(siteLink("docs/architecture.md", "nowhere.md")).toBe("nowhere.md");
    expect(siteLink("docs/architecture.md", "https://example.org/")).toBe("https://example.org/");
  });
});
