const directive = /(?:\/\/|\/\*)\s*eslint-disable(?:-next-line|-line)?\b([^\n]*?)(?:\*\/|$)/gm;
const untouchable = /\b(?:marin\/(?:layers|declared|justified-disable)|boundaries\/[a-z-]+)/;

/** Comments that switch eslint rules off without naming them, without a reason after `--`, or that switch off the package graph. */
export function findDirectiveProblems(text) {
  const problems = [];
  for (const match of text.matchAll(directive)) {
    const [rules = "", reason = ""] = match[1].split(/\s--\s/);
    const at = { start: match.index, end: match.index + match[0].length };
    if (rules.trim() === "") {
      problems.push({ ...at, message: "Name the rules that this comment disables." });
    } else if (untouchable.test(rules)) {
      problems.push({ ...at, message: `${untouchable.exec(rules)[0]} is never disabled: change the import, or the graph in layers.mjs.` });
    } else if (reason.trim() === "") {
      problems.push({ ...at, message: "Say after -- why the rule is disabled here." });
    }
  }
  return problems;
}
