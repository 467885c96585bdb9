/** The smallest experiment of one's own: a library step, a step defined here, and an option. */
import { defineExperiment, defineStep, documentsOptions, documentsStep, readDocuments, type DocumentsResult, type StepContext } from "@marin/marin";
import { z } from "zod";

const countOptions = z.strictObject({
  top: z.int().min(1).default(5).describe("How many of the most frequent words to name."),
});

const countStep = defineStep({
  name: "count-words",
  version: 1,
  async run({ config, inputs, signal, progress }: StepContext<z.output<typeof countOptions>, { documents: DocumentsResult }>) {
    const counts = new Map<string, number>();
    let done = 0;
    for await (const { text } of readDocuments(inputs.documents.directory, signal)) {
      for (const [word] of text.toLowerCase().matchAll(/\p{L}+/gu)) counts.set(word, (counts.get(word) ?? 0) + 1);
      progress({ done: ++done, total: inputs.documents.result.documents, unit: "documents" });
    }
    return { top: [...counts].sort(([, a], [, b]) => b - a).slice(0, config.top) };
  },
  lines: ({ top }) => top.map(([word, count]) => `${word}: ${count}`),
});

export const countWords = defineExperiment({
  name: "count-words",
  summary: "Counts words: shows how to write an experiment of one's own.",
  options: z.strictObject({ documents: documentsOptions, count: countOptions }),
  steps(options) {
    const documents = documentsStep({}, { ...options.documents, resolveFrom: import.meta.url });
    return { documents, count: countStep({ documents }, options.count) };
  },
});
