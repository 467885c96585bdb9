/** The checks of the repository as a whole: package graph, manifests, layout, README picture. */
import { findLayeringProblems } from "./layering/check.mjs";
import { findManifestProblems } from "./manifests.mjs";
import { findReadmeProblems } from "./readme.mjs";

const problems = [...findLayeringProblems(), ...findManifestProblems(), ...findReadmeProblems()];
for (const problem of problems) {
  console.error(problem);
}
console.log(problems.length === 0 ? "Package graph, manifests, layout and README: in order." : `${problems.length} problem${problems.length === 1 ? "" : "s"}.`);
process.exitCode = problems.length === 0 ? 0 : 1;
