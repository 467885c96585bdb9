import ts from "typescript";
import { parseSource } from "./source.mjs";

const viModuleCalls = new Set(["mock", "doMock", "unmock", "doUnmock", "importActual", "importMock"]);

/**
 * Every place where a source file names another module, in whatever form, in the order of the text.
 *
 * Each entry holds the `form` (for messages), the `specifier` (`undefined` when it is computed; then `text` is the expression, and `folded` its value
 * where that is plain), its `start` and `end` offset, `judged`:
 * `"module"` where the text is certainly a module specifier, `"text"` where it may be one (any other string literal), and `typeOnly`.
 */
export function findReferences(fileName, text) {
  const { source, insideLiteral } = parseSource(fileName, text);
  const requireNames = collectRequireNames(source);
  const references = [...tripleSlashReferences(text)];
  const claimed = new Set();

  const add = (form, node, { judged = "module", computed = true, typeOnly = false } = {}) => {
    const literal = literalText(node);
    if (literal === undefined && !computed) {
      return;
    }
    claimed.add(node);
    const expression = literal === undefined ? { folded: foldText(node), text: node.getText(source) } : {};
    references.push({ form, specifier: literal, ...expression, start: node.getStart(source), end: node.getEnd(), judged, typeOnly });
  };

  const visit = (node) => {
    if (ts.isImportDeclaration(node)) {
      const typeOnly = node.importClause?.isTypeOnly === true;
      add(typeOnly ? "import type" : "import", node.moduleSpecifier, { typeOnly });
    } else if (ts.isExportDeclaration(node) && node.moduleSpecifier) {
      add(node.isTypeOnly ? "export type … from" : "export … from", node.moduleSpecifier, { typeOnly: node.isTypeOnly });
    } else if (ts.isImportEqualsDeclaration(node) && ts.isExternalModuleReference(node.moduleReference)) {
      add("import … = require()", node.moduleReference.expression, { typeOnly: node.isTypeOnly });
    } else if (ts.isImportTypeNode(node)) {
      const argument = ts.isLiteralTypeNode(node.argument) ? node.argument.literal : node.argument;
      add("inline import type", argument, { typeOnly: true });
    } else if (ts.isCallExpression(node) && node.arguments.length > 0) {
      const form = moduleCallForm(node, requireNames);
      if (form && !isImportCall(node.arguments[0])) {
        // Resolving a computed name yields a path and loads nothing; whatever loads that path is judged where it does.
        add(form, node.arguments[0], { computed: !form.endsWith("resolve") });
      }
    } else if (ts.isNewExpression(node) && node.expression.getText(source) === "URL" && node.arguments?.length) {
      add("new URL", node.arguments[0], { judged: "text", computed: false });
    } else if (literalText(node) !== undefined && !claimed.has(node)) {
      add("string", node, { judged: "text" });
    } else if ((ts.isBinaryExpression(node) || ts.isTemplateExpression(node)) && !claimed.has(node) && foldText(node) !== undefined) {
      references.push({ form: "joined texts", specifier: foldText(node), start: node.getStart(source), end: node.getEnd(), judged: "text", typeOnly: false });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  if (/\.[cm]?jsx?$/.test(fileName)) {
    references.push(...jsDocImports(text));
  }
  const inCode = (reference) => reference.form !== "triple-slash reference" && reference.form !== "JSDoc import";
  return references.filter((reference) => inCode(reference) || !insideLiteral(reference.start)).sort((a, b) => a.start - b.start);
}

/** The text of a string or of a template without holes; `undefined` for anything else. */
function literalText(node) {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) {
    return node.text;
  }
  return undefined;
}

/** The value of literals joined by `+` or by a template; `undefined` for anything that needs the program to run. */
function foldText(node) {
  if (ts.isParenthesizedExpression(node)) {
    return foldText(node.expression);
  }
  if (ts.isBinaryExpression(node) && node.operatorToken.kind === ts.SyntaxKind.PlusToken) {
    return join([foldText(node.left), foldText(node.right)]);
  }
  if (ts.isTemplateExpression(node)) {
    return join([node.head.text, ...node.templateSpans.flatMap((span) => [foldText(span.expression), span.literal.text])]);
  }
  return ts.isNumericLiteral(node) ? node.text : literalText(node);
}

function join(parts) {
  return parts.includes(undefined) ? undefined : parts.join("");
}

function isImportCall(node) {
  return ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword;
}

function isCreateRequire(node) {
  return ts.isCallExpression(node) && /(?:^|\.)createRequire$/.test(node.expression.getText());
}

/** Names that stand for `require` in this file: `require` itself and whatever `createRequire()` was assigned to. */
function collectRequireNames(source) {
  const names = new Set(["require"]);
  const visit = (node) => {
    if (ts.isVariableDeclaration(node) && ts.isIdentifier(node.name) && node.initializer && isCreateRequire(node.initializer)) {
      names.add(node.name.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return names;
}

function moduleCallForm(call, requireNames) {
  const callee = call.expression;
  if (callee.kind === ts.SyntaxKind.ImportKeyword) {
    return "dynamic import";
  }
  if ((ts.isIdentifier(callee) && requireNames.has(callee.text)) || isCreateRequire(callee)) {
    return "require";
  }
  if (!ts.isPropertyAccessExpression(callee)) {
    return undefined;
  }
  const object = callee.expression;
  const method = callee.name.text;
  if (method === "resolve" && ts.isMetaProperty(object)) {
    return "import.meta.resolve";
  }
  if (method === "resolve" && ((ts.isIdentifier(object) && requireNames.has(object.text)) || isCreateRequire(object))) {
    return "require.resolve";
  }
  if (method === "require" && ts.isIdentifier(object) && object.text === "module") {
    return "require";
  }
  if (ts.isIdentifier(object) && (object.text === "vi" || object.text === "vitest") && viModuleCalls.has(method)) {
    return `${object.text}.${method}`;
  }
  return undefined;
}

function* tripleSlashReferences(text) {
  const header = /^[ \t]*\/\/\/\s*<(?:reference|amd-dependency)\s+[^>\n]*?(path|types)\s*=\s*(["'])([^"'\n]*)\2/gm;
  for (const match of text.matchAll(header)) {
    const start = match.index + match[0].indexOf("///");
    const specifier = match[1] === "path" && !/^[./@]/.test(match[3]) ? `./${match[3]}` : match[3];
    yield { form: "triple-slash reference", specifier, start, end: match.index + match[0].length, judged: "module", typeOnly: true };
  }
}

/** JSDoc type imports, which TypeScript follows in JavaScript files only. */
function* jsDocImports(text) {
  for (const comment of text.matchAll(/\/\*\*[\s\S]*?\*\//g)) {
    for (const match of comment[0].matchAll(/import\(\s*(["'])([^"']+)\1\s*\)|@import\b[^"'\n]*(["'])([^"']+)\3/g)) {
      const start = comment.index + match.index;
      yield { form: "JSDoc import", specifier: match[2] ?? match[4], start, end: start + match[0].length, judged: "module", typeOnly: true };
    }
  }
}
