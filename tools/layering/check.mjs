import { readFileSync } from "node:fs";
import { join } from "node:path";
import { isCode, leaves, listFiles, repositoryRoot } from "../repository.mjs";
import { findDirectiveProblems } from "./directives.mjs";
import { judgeReference } from "./judge.mjs";
import { findReferences } from "./references.mjs";

/**
 * The package graph judged over every source file of the repository, without eslint: a comment cannot switch it off, and it needs no resolver.
 * Computed specifiers are eslint's to judge, where a line can be excused with a reason.
 */
export function findLayeringProblems() {
  const problems = [];
  for (const file of ["packages", ...leaves, "tools"].flatMap((folder) => listFiles(folder)).filter(isCode)) {
    const path = join(repositoryRoot, file);
    const text = readFileSync(path, "utf8");
    const at = (offset) => {
      const before = text.slice(0, offset).split("\n");
      return `${file}:${before.length}:${before.at(-1).length + 1}`;
    };
    for (const reference of findReferences(path, text)) {
      const violation = judgeReference(path, reference);
      if (violation && violation.rule !== "computed-import") {
        problems.push(`${at(reference.start)}  marin/${violation.rule}  ${violation.message}`);
      }
    }
    for (const { start, message } of findDirectiveProblems(path, text)) {
      problems.push(`${at(start)}  marin/justified-disable  ${message}`);
    }
  }
  return problems;
}
