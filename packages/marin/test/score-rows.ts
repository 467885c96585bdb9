import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ParquetReader } from "@marin/zephyr";

/** A row of a file of scores. */
export interface ScoreRow {
  readonly id: string;
  readonly tokens: number;
  readonly bytes: number;
  readonly nats: number;
  readonly bits_per_byte: number | null;
}

/** All rows of the files of scores in a directory, in order. */
export async function scoreRows(directory: string): Promise<ScoreRow[]> {
  const rows: ScoreRow[] = [];
  const names = (await readdir(directory)).filter((name) => name.endsWith(".parquet")).sort();
  for (const name of names) for await (const row of new ParquetReader<ScoreRow>({ path: join(directory, name) })) rows.push(row);
  return rows;
}
