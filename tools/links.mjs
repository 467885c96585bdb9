import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listFiles, repositoryRoot } from "./repository.mjs";

/** Relative links of Markdown pages that lead nowhere, and decisions that the index does not list. */
export function findLinkProblems() {
  const pages = listFiles().filter((file) => file.endsWith(".md"));
  const problems = pages.flatMap((page) => {
    const text = readFileSync(join(repositoryRoot, page), "utf8").replace(/^```[\s\S]*?^```/gm, "");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link.split("#")[0]).filter((link) => link !== "" && !/^[a-z]+:/.test(link));
    return links.filter((link) => !existsSync(join(repositoryRoot, dirname(page), decodeURI(link)))).map((link) => `${page}  marin/links  "${link}" leads nowhere`);
  });
  const index = readFileSync(join(repositoryRoot, "docs/decisions/README.md"), "utf8");
  const unlisted = listFiles("docs/decisions").filter((file) => file.endsWith(".md") && !file.endsWith("/README.md") && !index.includes(`(${file.split("/").at(-1)})`));
  return [...problems, ...unlisted.map((file) => `${file}  marin/links  docs/decisions/README.md does not list this decision`)];
}
