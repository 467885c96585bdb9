import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { afterEach, beforeEach, expect, it } from "vitest";

import { defineExperiment } from "../experiment-definition.js";
import { resolveOptions } from "../options/resolve.js";
import { runExperiment } from "../run-experiment.js";
import { documentsOptions, documentsStep } from "./documents.js";

const experiment = defineExperiment({
  name: "texts",
  summary: "Collects texts.",
  options: documentsOptions,
  steps: (options) => ({ documents: documentsStep({}, { ...options, resolveFrom: import.meta.url }) }),
});

let root: string;
beforeEach(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-documents-"));
  await mkdir(join(root, "texts"));
  for (let i = 0; i < 20; i += 1) await writeFile(join(root, "texts", `${String(i)}.txt`), `Text number ${String(i)}.`);
});
afterEach(async () => {
  await rm(root, { recursive: true });
});

/** Fingerprint and result of the step with a store of its own: nothing is cached. */
async function collect(prefix: string, source: string): Promise<{ fingerprint: string; result: unknown; messages: string[] }> {
  const messages: string[] = [];
  const options = resolveOptions(experiment.options, [`source=${source}`, "minDocumentBytes=1"]);
  const { documents } = await runExperiment(experiment, options, {
    prefix: join(root, prefix),
    workingDirectory: root,
    onEvent: (event) => {
      if (event.event === "message") messages.push(event.message);
    },
  });
  return { fingerprint: documents?.fingerprint ?? "", result: documents?.result, messages };
}

it("gives equal results for equal fingerprints, whatever else lies in the folder and wherever that is", async () => {
  const first = await collect("one", "./texts");
  await writeFile(join(root, "texts", "cover.png"), "");
  await rename(join(root, "texts"), join(root, "moved"));
  const second = await collect("two", "moved");
  expect(second.fingerprint).toBe(first.fingerprint);
  expect(second.result).toEqual(first.result);
  expect(second.messages).toEqual([expect.stringMatching(/^files of other kinds than \.jsonl, .*\.zip; packed ones too, left out: 1$/)]);
});
