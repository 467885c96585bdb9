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
        h("blockquote", { class: "text", dir: "auto" }, prompt === "" ? null : h("strong", null, visibleText(prompt)), visibleText(continuation)),
        h("figcaption", { class: "note" }, prompt === "" ? "" : "The prompt is set in bold. ", `The model wrote ${plural(tokens, "token")}.`),
      ),
    ),
  );
}
