/** The checks of the repository as a whole: package graph, manifests, layout, README picture, links between pages. */
import { findLayeringProblems } from "./layering/check.mjs";
import { findLinkProblems } from "./links.mjs";
import { findManifestProblems } from "./manifests.mjs";
import { findReadmeProblems } from "./readme.mjs";

const problems = [...findLayeringProblems(), ...findManifestProblems(), ...findReadmeProblems(), ...findLinkProblems()];
for (const problem of problems) {
  console.error(problem);
}
console.log(problems.length === 0 ? "Package graph, manifests, layout and pages: in order." : `${problems.length} problem${problems.length === 1 ? "" : "s"}.`);
process.exitCode = problems.length === 0 ? 0 : 1;
