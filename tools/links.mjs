import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { listFiles, repositoryRoot } from "./repository.mjs";

/** Relative links of Markdown pages that lead nowhere, files that a page quotes otherwise than they are, and decisions that the index does not list. */
export function findLinkProblems() {
  const pages = listFiles().filter((file) => file.endsWith(".md"));
  const problems = pages.flatMap((page) => {
    const whole = readFileSync(join(repositoryRoot, page), "utf8");
    const text = whole.replace(/^```[\s\S]*?^```/gm, "");
    const links = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link]) => link.split("#")[0]).filter((link) => link !== "" && !/^[a-z]+:/.test(link));
    const dead = links.filter((link) => !existsSync(join(repositoryRoot, dirname(page), decodeURI(link)))).map((link) => `${page}  marin/links  "${link}" leads nowhere`);
    return [...dead, ...findQuoteProblems(page, whole)];
  });
  const index = readFileSync(join(repositoryRoot, "docs/decisions/README.md"), "utf8");
  const unlisted = listFiles("docs/decisions").filter((file) => file.endsWith(".md") && !file.endsWith("/README.md") && !index.includes(`(${file.split("/").at(-1)})`));
  return [...problems, ...unlisted.map((file) => `${file}  marin/links  docs/decisions/README.md does not list this decision`)];
}

/** Blocks after `<!-- path of a file -->` that are not that file's text, letter by letter. */
function findQuoteProblems(page, text) {
  return [...text.matchAll(/^<!-- ([\w./-]+\.[mc]?[jt]s) -->\n```\w*\n([\s\S]*?)^```/gm)].flatMap(([, file, quoted]) => {
    const path = join(repositoryRoot, dirname(page), file);
    return existsSync(path) && readFileSync(path, "utf8") === quoted ? [] : [`${page}  marin/links  the block after <!-- ${file} --> is not what the file holds`];
  });
}
