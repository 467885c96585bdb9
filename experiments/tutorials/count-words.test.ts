import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { resolveOptions, runExperiment } from "@marin/marin";
import { expect, it } from "vitest";

import { countWords } from "./count-words.js";

it("counts the words of a folder's documents", async () => {
  const directory = await mkdtemp(join(tmpdir(), "marin-count-words-"));
  try {
    await mkdir(join(directory, "texts"));
    for (let index = 0; index < 40; index++) {
      await writeFile(join(directory, "texts", `${index}.txt`), `Text ${index}: the sea and the ship, the sea and the sky; so the tale goes on and on and on.\n`);
    }
    const options = resolveOptions(countWords.options, ["documents.source=texts", "count.top=2"]);
    const { documents, count } = await runExperiment(countWords, options, { prefix: join(directory, "store"), workingDirectory: directory });
    expect(documents?.result).toMatchObject({ documents: 40 });
    expect(count?.result).toEqual({ top: [["the", 5 * 40], ["and", 4 * 40]] });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it("is shown whole in the README", async () => {
  const read = (name: string): Promise<string> => readFile(new URL(name, import.meta.url), "utf8");
  expect(await read("../README.md")).toContain(`\`\`\`ts\n${await read("count-words.ts")}\`\`\`\n`);
});
