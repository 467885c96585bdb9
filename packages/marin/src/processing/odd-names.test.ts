import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TokenStore } from "@marin/levanter";
import { Dataset, literalPath } from "@marin/zephyr";
import { expect, test } from "vitest";
import { RandomProse } from "../../test/random-prose.js";
import { collectDocuments } from "./collect-documents.js";
import { connectedComponents } from "./components/connected-components.js";
import { decontaminateDocuments } from "./decontamination/decontaminate-documents.js";
import { dedupDocuments } from "./dedup-documents.js";
import { tokenizeDocuments } from "./tokenize-documents.js";
import { trainTokenizer } from "./tokenizer/train-tokenizer.js";

/** All that patterns, addresses and shells take for something else. */
const odd = "an odd [1-3] {a,b} {shard} *?! \\ ü#1 %20%zz 'x' \"y\" $HOME ~ 文";

test("folders and files of any names go through the whole chain, from texts to tokens and clusters", async () => {
  const root = await mkdtemp(join(tmpdir(), "marin-odd-"));
  const at = (name: string): string => join(root, odd, `${name} ${odd}`);
  try {
    const prose = new RandomProse(3);
    const leak = prose.words(20);
    for (const name of ["texts", "evaluations"]) await mkdir(join(at(name), odd), { recursive: true });
    await writeFile(join(at("texts"), odd, `${odd}.jsonl`), Array.from({ length: 40 }, () => `${JSON.stringify({ text: prose.words(40) })}\n`).join("") + "{broken\n");
    await writeFile(join(at("texts"), `${odd}.txt`), `${prose.words(20)}\n\n${leak}`);
    await writeFile(join(at("evaluations"), `${odd}.jsonl`), `${JSON.stringify({ text: leak })}\n`);

    const read = await collectDocuments({ source: at("texts"), resolveFrom: import.meta.url, outputDir: at("documents"), onBadRecord: "skip" });
    expect(read).toMatchObject({ documents: 41, ignoredFiles: 0, sources: { folder: { unreadable: 1 } } });
    expect(await readdir(join(at("documents"), "bad-records", odd))).toEqual([`${odd}.jsonl.jsonl`]);
    const clean = await decontaminateDocuments({ documents: at("documents"), evaluations: at("evaluations"), outputDir: at("clean"), commonAbove: 5 });
    expect(clean).toMatchObject({ documents: 40, evaluations: { mostLeaked: [{ id: `${odd}.jsonl:1`, documents: 1 }] } });
    const { train } = await dedupDocuments({ documents: at("clean"), outputDir: at("unique"), validationFraction: 0.3 });
    const documents = join(at("unique"), "train");
    const { path: tokenizerPath } = await trainTokenizer({ documents, vocabSize: 260, outputDir: at("tokenizer") });
    await tokenizeDocuments({ documents, tokenizerPath, outputDir: at("tokens") });
    expect((await TokenStore.open(at("tokens"))).documentEnds).toHaveLength(train.documents);

    const rows = await Dataset.fromFiles<{ id: string }>(join(literalPath(documents), "*.parquet")).toArray();
    expect(rows).toHaveLength(train.documents);
    const [a = "", b = ""] = rows.map(({ id }) => id);
    expect(await connectedComponents({ edges: Dataset.fromArray([{ a, b }]), outputDir: at("clusters"), shards: 1 })).toMatchObject({ nodes: 2, components: 1, converged: true });
    expect(await readdir(at("clusters"))).toEqual(["part-00000-of-00001.parquet"]);
    expect(await readdir(root)).toEqual([odd]);
  } finally {
    await rm(root, { recursive: true });
  }
});
