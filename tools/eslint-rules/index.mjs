import { findReferences } from "../layering/references.mjs";
import { findDirectiveProblems } from "../layering/directives.mjs";
import { judgeReference } from "../layering/judge.mjs";

/** What was found in each file under lint: three rules ask, and parsing a file is most of what they cost. */
const violations = new WeakMap();

function violationsIn({ sourceCode, filename }) {
  let found = violations.get(sourceCode);
  if (found === undefined) {
    found = findReferences(filename, sourceCode.text).flatMap((reference) => {
      const violation = judgeReference(filename, reference);
      return violation ? [{ ...violation, loc: locate(sourceCode, reference) }] : [];
    });
    violations.set(sourceCode, found);
  }
  return found;
}

/** One rule per kind of violation, so that a line can be excused from one of them only. All judge by text and path, never by what a resolver finds. */
function layeringRule(kind, description) {
  return {
    meta: { type: "problem", docs: { description }, schema: [] },
    create(context) {
      return {
        Program() {
          for (const { rule, loc, message } of violationsIn(context)) {
            if (rule === kind) {
              context.report({ loc, message });
            }
          }
        },
      };
    },
  };
}

function locate(sourceCode, { start, end }) {
  return { start: sourceCode.getLocFromIndex(start), end: sourceCode.getLocFromIndex(end) };
}

const justifiedDisable = {
  meta: { type: "problem", docs: { description: "Disabling a rule names the rule and the reason; the package graph is never disabled." }, schema: [] },
  create(context) {
    return {
      Program() {
        for (const { start, end, message } of findDirectiveProblems(context.filename, context.sourceCode.text)) {
          context.report({ loc: locate(context.sourceCode, { start, end }), message });
        }
      },
    };
  },
};

export default {
  meta: { name: "marin" },
  rules: {
    layers: layeringRule("layers", "Packages import only what layers.mjs allows, by name."),
    declared: layeringRule("declared", "What a package imports stands in its package.json."),
    "computed-import": layeringRule("computed-import", "Module specifiers are literals."),
    "justified-disable": justifiedDisable,
  },
};
