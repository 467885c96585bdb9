import { defaultTreeAdapter, parse, type DefaultTreeAdapterTypes } from "parse5";

type Element = DefaultTreeAdapterTypes.Element;
type Node = DefaultTreeAdapterTypes.Node;

/** What a test asks of a page. */
export interface HtmlPage {
  /** What a parser that follows the HTML standard objects to, and elements that it had to open or close itself. */
  readonly errors: readonly string[];
  /** Elements and attributes that would load or run something, and links that lead away. */
  readonly outside: readonly string[];
  readonly headings: readonly string[];
  /** Headlines that skip a level. */
  readonly headingJumps: readonly string[];
  readonly tablesWithoutHeads: readonly string[];
  readonly picturesWithoutWords: readonly string[];
  /** Links to places that the page does not have. */
  readonly brokenLinks: readonly string[];
  readonly doubleIds: readonly string[];
  /** All text of the page. */
  readonly whole: string;
  /** Text of each element of a kind. */
  text(tag: string): string[];
  /** Values of an attribute of each element of a kind that has it. */
  attributes(tag: string, name: string): string[];
}

/** Reads a page as a browser would. */
export function pageOf(html: string): HtmlPage {
  const errors: string[] = [];
  const around = (offset: number): string => html.slice(Math.max(0, offset - 40), offset + 40);
  const document = parse(html, { sourceCodeLocationInfo: true, onParseError: ({ code, startOffset }) => errors.push(`${code} at ${around(startOffset)}`) });
  const elements = [...walk(document)];
  for (const { tagName, sourceCodeLocation: at } of elements) {
    if (!at?.startTag) errors.push(`${tagName} was made up by the parser`);
    else if (at.endTag === undefined && !/^(meta|br|hr|wbr)$/.test(tagName) && html[at.startTag.endOffset - 2] !== "/") errors.push(`${tagName} was closed by the parser at ${around(at.startOffset)}`);
  }
  const named = (tag: string): Element[] => elements.filter(({ tagName }) => tagName === tag);
  const attribute = (element: Element, name: string): string | undefined => element.attrs.find((each) => each.name === name)?.value;
  const ids = elements.flatMap((element) => attribute(element, "id") ?? []);
  const headings = elements.filter(({ tagName }) => /^h[1-6]$/.test(tagName));
  const links = named("a").map((element) => attribute(element, "href") ?? "");
  return {
    errors,
    outside: [
      ...elements.filter(({ tagName }) => /^(script|link|img|iframe|object|embed|base|form|video|audio|source|image|use|foreignObject)$/.test(tagName)).map(({ tagName }) => tagName),
      ...elements.flatMap(({ attrs }) => attrs.filter(({ name }) => /^(on.*|src|srcset|action|formaction|ping|poster)$/.test(name)).map(({ name }) => name)),
      ...links.filter((href) => !href.startsWith("#")),
      ...named("style").flatMap((element) => textOf(element).match(/@import|url\([^)]*\)/g) ?? []),
      ...elements.flatMap((element) => attribute(element, "style")?.match(/url\([^)]*\)/g) ?? []),
    ],
    headings: headings.map((element) => `${element.tagName} ${textOf(element)}`),
    headingJumps: headings.filter((element, index) => Number(element.tagName[1]) > Number(headings[index - 1]?.tagName[1] ?? 0) + 1).map(textOf),
    tablesWithoutHeads: named("table")
      .filter((table) => {
        const heads = [...walk(table)].filter(({ tagName }) => tagName === "th");
        return heads.length === 0 || heads.some((head) => attribute(head, "scope") === undefined) || ![...walk(table)].some((each) => each.tagName === "caption" && textOf(each) !== "");
      })
      .map(textOf),
    picturesWithoutWords: named("svg").filter((element) => (attribute(element, "aria-label") ?? "") === "").map(textOf),
    brokenLinks: links.filter((href) => href.startsWith("#") && !ids.includes(href.slice(1))),
    doubleIds: ids.filter((id, index) => ids.indexOf(id) !== index),
    whole: named("body").map(textOf).join(""),
    text: (tag) => named(tag).map(textOf),
    attributes: (tag, name) => named(tag).flatMap((element) => attribute(element, name) ?? []),
  };
}

function* walk(node: Node): Generator<Element> {
  if (defaultTreeAdapter.isElementNode(node)) yield node;
  for (const child of "childNodes" in node ? node.childNodes : []) yield* walk(child);
}

function textOf(node: Node): string {
  if (defaultTreeAdapter.isTextNode(node)) return node.value;
  return "childNodes" in node ? node.childNodes.map(textOf).join("") : "";
}
