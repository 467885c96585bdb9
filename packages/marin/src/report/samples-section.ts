import { h } from "preact";

import { plural, section, type Markup } from "./markup.js";
import type { Report } from "./report.js";
import { visibleText } from "./visible-text.js";

/** What the model wrote. */
export function samplesSection(samples: Report["samples"]): Markup {
  return section(
    "samples",
    samples.length === 1 ? "Sample" : "Samples",
    samples.map(({ prompt, continuation, tokens }) =>
      h(
        "figure",
        { class: "sample" },
        h("blockquote", { class: "text", dir: "auto" }, prompt === "" ? null : h("strong", null, visibleText(prompt)), foldLineEnds(visibleText(continuation))),
        h("figcaption", { class: "note" }, prompt === "" ? "" : "The prompt is set in bold. ", `The model wrote ${plural(tokens, "token")}.`),
      ),
    ),
  );
}

/** Text in which many line ends in a row are told instead of shown: a model that has learned little may write nothing else. */
function foldLineEnds(text: string): Markup {
  return text.split(/((?:[ \t]*\n){4,})/).map((part, index) => (index % 2 === 0 ? part : ["\n", h("span", { class: "note" }, `(${plural(part.split("\n").length - 1, "line end")})`), "\n"]));
}
