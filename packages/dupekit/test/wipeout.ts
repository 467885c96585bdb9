import { findDuplicates } from "../src/near-duplicates.js";
import type { Preset } from "../src/presets.js";
import { sketchText } from "../src/sketch.js";
import type { Labelled } from "./labelled.js";

/** What is left of a templated set: the share of the groups of which a document stays, and the share of the copies that went for one of their group. */
export function survivors(documents: readonly Labelled[], preset: Preset | undefined): { readonly distinctKept: number; readonly plantedRemoved: number } {
  const sketch = (text: string): ReturnType<typeof sketchText> => (preset === undefined ? sketchText(text) : sketchText(text, { preset }));
  const { removed } = findDuplicates(documents.map(({ id, text }) => ({ id, sketch: sketch(text) })), { preset });
  const gone = new Set(removed.map(({ index }) => index));
  const groups = new Set(documents.map(({ group }) => group));
  const kept = new Set(documents.filter((_, index) => !gone.has(index)).map(({ group }) => group));
  const planted = documents.length - groups.size;
  const right = removed.filter(({ index, duplicateOf }) => documents[index]?.group === documents[duplicateOf]?.group).length;
  return { distinctKept: kept.size / groups.size, plantedRemoved: right / planted };
}
