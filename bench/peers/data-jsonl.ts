/** The sides of `pnpm bench data --sections jsonl`: lines are read, parsed and filtered in one process. */
import { DuckDBInstance } from "@duckdb/node-api";
import { Dataset, JsonlReader } from "@marin/zephyr";
import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { type BenchDocument, type DataReport, dataArguments, isKept, reportData } from "./data-protocol.js";

const { side, input } = dataArguments();

async function summed(documents: AsyncIterable<BenchDocument>, keep: (document: BenchDocument) => boolean): Promise<Pick<DataReport, "kept" | "characters">> {
  const total = { kept: 0, characters: 0 };
  for await (const document of documents) {
    if (!keep(document)) continue;
    total.kept += 1;
    total.characters += document.text.length;
  }
  return total;
}

async function* readlineDocuments(): AsyncGenerator<BenchDocument> {
  for await (const line of createInterface({ input: createReadStream(input), crlfDelay: Infinity })) yield JSON.parse(line) as BenchDocument;
}

const sides: Readonly<Record<string, () => Promise<void>>> = {
  dataset: () => reportData("zephyr", () => summed(Dataset.fromFiles<BenchDocument>(input).filter(isKept), () => true)),
  reader: () => reportData("zephyr", () => summed(new JsonlReader<BenchDocument>({ path: input }), isKept)),
  readline: () => reportData(`Node ${process.version}`, () => summed(readlineDocuments(), isKept)),
  duckdb: async () => {
    const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
    await reportData("DuckDB", async () => {
      const columns = "{ id: 'BIGINT', url: 'VARCHAR', language: 'VARCHAR', score: 'DOUBLE', text: 'VARCHAR' }";
      const result = await connection.runAndReadAll(`SELECT count(*), sum(length(text)) FROM read_json('${input}', format = 'newline_delimited', columns = ${columns}) WHERE language = 'en' AND score >= 0.25`);
      const [kept, characters] = result.getRows()[0] as bigint[];
      return { kept: Number(kept), characters: Number(characters) };
    });
  },
};

await sides[side]?.();
