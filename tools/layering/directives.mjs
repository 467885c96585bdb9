import { parseSource } from "./source.mjs";

const directive = /(?:\/\/|\/\*)\s*eslint-disable(?:-next-line|-line)?\b([^\n]*?)(?:\*\/|$)/gm;
const inlineConfiguration = /\/\*\s*eslint\s+[^*]*:[^*]*\*\//g;
const untouchable = /\b(?:marin\/(?:layers|declared|justified-disable)|boundaries\/[a-z-]+)/;

/**
 * Comments that switch eslint rules off without naming them or without a reason after `--`, that switch off the package graph, or that configure
 * rules within a file.
 */
export function findDirectiveProblems(fileName, text) {
  const matches = [...text.matchAll(directive)];
  const configurations = [...text.matchAll(inlineConfiguration)];
  const { insideLiteral } = matches.length + configurations.length > 0 ? parseSource(fileName, text) : {};
  const problems = [];
  for (const match of matches.filter(({ index }) => !insideLiteral(index))) {
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
  for (const match of configurations.filter(({ index }) => !insideLiteral(index))) {
    problems.push({ start: match.index, end: match.index + match[0].length, message: "Rules are configured in the root's eslint.config.mjs only." });
  }
  return problems;
}
