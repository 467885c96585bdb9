import ts from "typescript";

/** Parses a source file. `insideLiteral(offset)` tells text within a string, template or regular expression from comments and code. */
export function parseSource(fileName, text) {
  const source = ts.createSourceFile(fileName, text, ts.ScriptTarget.Latest, true);
  const literals = [];
  const visit = (node) => {
    if (ts.isStringLiteralLike(node) || ts.isTemplateHead(node) || ts.isTemplateMiddleOrTemplateTail(node) || ts.isRegularExpressionLiteral(node)) {
      literals.push([node.getStart(source), node.getEnd()]);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return { source, insideLiteral: (offset) => literals.some(([start, end]) => start <= offset && offset < end) };
}
