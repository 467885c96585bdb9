/** JavaScript's sides of `pnpm bench data --sections pipeline`: packed JSON Lines to Parquet with zstd. */
import { DuckDBInstance } from "@duckdb/node-api";
import { Dataset, ParquetReader } from "@marin/zephyr";
import { type BenchDocument, type DataReport, dataArguments, isKept, reportData } from "./data-protocol.js";

const { side, input, output } = dataArguments();

async function zephyr(stored: { readonly compressionLevel?: number } = {}): Promise<void> {
  const schema = { id: "int64", url: "string", score: "float64", characters: "int32", text: "string" } as const;
  const written = Dataset.fromFiles<BenchDocument>(input)
    .filter(isKept)
    .map(({ id, url, score, text }) => ({ id: BigInt(id), url, score, characters: text.length, text }))
    .writeParquet(output, { schema, ...stored });
  await reportData("zephyr", async () => {
    for await (const { records } of written) if (records === undefined) throw new Error("nothing was written");
    return { kept: 0, characters: 0 };
  });
}

async function duckdb(stored = ""): Promise<void> {
  const connection = await (await DuckDBInstance.create(":memory:", { threads: "1" })).connect();
  await reportData("DuckDB", async () => {
    const columns = "{ id: 'BIGINT', url: 'VARCHAR', language: 'VARCHAR', score: 'DOUBLE', text: 'VARCHAR' }";
    const source = `read_json('${input}', format = 'newline_delimited', columns = ${columns})`;
    await connection.run(`COPY (SELECT id, url, score, length(text)::INTEGER AS characters, text FROM ${source} WHERE language = 'en' AND score >= 0.25) TO '${output}' (FORMAT parquet, COMPRESSION zstd, ROW_GROUP_SIZE 10240${stored})`);
    return { kept: 0, characters: 0 };
  });
}

/** What was written, read by a reader that is none of the sides' writers. */
async function check(): Promise<void> {
  const total: { kept: number; characters: number } = { kept: 0, characters: 0 };
  for await (const { characters } of new ParquetReader<{ readonly characters: number | bigint }>({ path: output, columns: ["characters"] })) {
    total.kept += 1;
    total.characters += Number(characters);
  }
  await reportData("", () => Promise.resolve<Pick<DataReport, "kept" | "characters">>(total));
}

const sides: Readonly<Record<string, () => Promise<void>>> = {
  zephyr,
  duckdb,
  check,
  "zephyr-1": () => zephyr({ compressionLevel: 1 }),
  "duckdb-1": () => duckdb(", COMPRESSION_LEVEL 1"),
};
await sides[side]?.();
