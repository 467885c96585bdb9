import { h } from "preact";

import { artifactId, lineageGraph } from "./lineage-graph.js";
import { digest, foreign, section, size, table, type Markup } from "./markup.js";
import type { LineageFact } from "./report.js";
import { visibleText } from "./visible-text.js";

/** Where every artifact comes from. */
export function lineageSection(lineage: readonly LineageFact[]): Markup {
  return section(
    "lineage",
    "Lineage",
    h(
      "p",
      null,
      "The fingerprint of an artifact is the SHA-256 of what decided it: kind and version of the step, configuration, inputs. Its digest is that of what came out. Both are shortened here; point at one or copy it to have all 64 digits.",
    ),
    lineage.length === 0 ? null : [lineageGraph(lineage), artifactTable(lineage), h("h3", null, "Configurations"), lineage.map(configuration)],
  );
}

function artifactTable(lineage: readonly LineageFact[]): Markup {
  const names = new Map(lineage.map(({ fingerprint, step }) => [fingerprint, step]));
  const madeFrom = ({ inputs }: LineageFact): Markup =>
    Object.entries(inputs).map(([role, input], index) => [index === 0 ? "" : ", ", h("a", { href: `#${artifactId({ fingerprint: input })}` }, foreign(names.get(input) ?? role))]);
  const rows = lineage.map((fact) => ({
    id: artifactId(fact),
    cells: [
      [foreign(fact.step), stateNote(fact)],
      [h("code", null, fact.kind), fact.version === "" ? "" : ` ${fact.version}`],
      digest(fact.fingerprint),
      digest(fact.digest),
      madeFrom(fact),
      size(fact.files.bytes),
    ],
  }));
  return table("Artifacts, inputs first", [{ head: "Artifact" }, { head: "Kind, version" }, { head: "Fingerprint" }, { head: "Digest" }, { head: "Made from" }, { head: "Files", numeric: true }], rows);
}

function stateNote({ state }: LineageFact): Markup {
  if (state === "present") return null;
  return h("span", { class: "note" }, state === "missing" ? " (no longer in the store)" : " (made again since, with another digest)");
}

/** What decided an artifact besides its inputs. */
function configuration({ step, config, identity }: LineageFact): Markup {
  return h(
    "details",
    null,
    h("summary", null, foreign(step)),
    h("pre", null, h("code", null, visibleText(JSON.stringify(config, null, 2)))),
    identity === undefined ? null : h("p", { class: "note" }, "and what the configuration names: ", typeof identity === "string" ? digest(identity) : h("code", null, visibleText(JSON.stringify(identity)))),
  );
}
