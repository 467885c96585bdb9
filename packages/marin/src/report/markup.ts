import { h, type ComponentChild } from "preact";

import { bytes, count, moment, shortCount } from "./format.js";
import { visibleText } from "./visible-text.js";

/** A piece of a page: elements, text, numbers. Text in it is escaped where the page is written. */
export type Markup = ComponentChild;

/** A section with its headline. */
export function section(id: string, headline: string, ...content: Markup[]): Markup {
  return h("section", { id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, headline), ...content);
}

/** A number, the exact one in `value` and on hover. */
export function exactCount(value: number): Markup {
  return h("data", { value: String(value) }, count(value));
}

/** A number in three digits, the exact one in `value` and on hover. */
export function roundCount(value: number): Markup {
  return h("data", { value: String(value), title: count(value) }, shortCount(value));
}

/** A size in three digits, the exact one in `value` and on hover. */
export function size(value: number | undefined): Markup {
  return value === undefined ? "" : h("data", { value: String(value), title: `${count(value)} bytes` }, bytes(value));
}

/** A measured number with the digits that mean something. */
export function measure(value: number, digits: number): Markup {
  return h("data", { value: String(value), title: String(value) }, value.toFixed(digits));
}

/** A time, to the second. */
export function time(iso: string): Markup {
  return h("time", { dateTime: iso }, moment(iso));
}

/** A digest cut to its beginning for the eye: it is there whole for hover, focus, copying and on paper. */
export function digest(value: string): Markup {
  return h("code", { class: "digest", title: value, tabIndex: 0 }, value);
}

/** Text that others wrote. */
export function foreign(text: string): Markup {
  return h("bdi", null, visibleText(text));
}

/** How many of something: "1 document", "2 documents". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** A name with its bar: beside it, or under it on a narrow page. */
export function barred(name: Markup, line: Markup): Markup {
  return h("span", { class: "barred" }, h("span", null, name), line);
}

/** A bar of a share from 0 to 1, beginning at another. What it says stands in the text beside it. */
export function bar(share: number, { from = 0, tone = "" }: { readonly from?: number; readonly tone?: string } = {}): Markup {
  const style = `--from:${from.toFixed(5)};--share:${share.toFixed(5)}`;
  return h("span", { class: "track", "aria-hidden": true }, h("span", { class: `bar ${tone}`.trim(), style }));
}

/** One column of a table. */
export interface Column {
  readonly head: string;
  /** Whether it holds numbers. */
  readonly numeric?: boolean;
}

/** One row: the first cell is its head. */
export interface Row {
  readonly cells: readonly Markup[];
  readonly class?: string;
  readonly id?: string;
}

/** A table with a caption for those who do not see where it stands; scrolls by itself where the page is too narrow. `name` is its class. */
export function table(caption: string, columns: readonly Column[], rows: readonly Row[], name = ""): Markup {
  const kind = (index: number): { class?: string } => (columns[index]?.numeric === true ? { class: "number" } : {});
  return h(
    "div",
    { class: "scroll", role: "region", "aria-label": caption, tabIndex: 0 },
    h(
      "table",
      name === "" ? null : { class: name },
      h("caption", { class: "unseen" }, caption),
      h("thead", null, h("tr", null, columns.map(({ head }, index) => h("th", { scope: "col", ...kind(index) }, head)))),
      h(
        "tbody",
        null,
        rows.map(({ cells, id, class: name }) =>
          h("tr", { ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { class: name }) }, cells.map((cell, index) => (index === 0 ? h("th", { scope: "row" }, cell) : h("td", kind(index), cell)))),
        ),
      ),
    ),
  );
}

/** Names and values, side by side. */
export function facts(entries: readonly (readonly [string, Markup])[]): Markup {
  return h("dl", { class: "facts" }, entries.map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value))));
}
