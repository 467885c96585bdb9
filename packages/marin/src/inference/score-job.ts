import { mkdir, stat } from "node:fs/promises";
import { basename, join } from "node:path";
import { irisCtx } from "@marin/iris";
import { fileError, lockDirectory } from "@marin/rigging";
import { listFiles, ParquetReader, readRecords, recordExtensions, writeParquet, zephyrContext, type ListedFile, type ParquetSchema } from "@marin/zephyr";
import { batchesOf, documentsOf, type NamedText } from "./named-texts.js";
import { scoreRemotely } from "./score-remotely.js";
import { scoreTexts, type TextScore } from "./score-texts.js";
import { claimOutput } from "./scores-claim.js";
import { withServedModel, type InferenceCompute, type ModelLocation } from "./served-model.js";
import { readToken } from "./token.js";

/** What a scoring job does: plain data. */
export interface ScoreRequest extends InferenceCompute {
  readonly location: ModelLocation;
  /** File or directory of documents. */
  readonly dataset: string;
  /** Directory for the scores. */
  readonly output: string;
  /** The endpoint of a running server of that model, and the file with its token. Undefined: the job loads the model itself. */
  readonly through: { readonly endpoint: string; readonly tokenFile: string | undefined } | undefined;
}

/** What a dataset's scores come to. */
export interface ScoreSummary {
  /** Files of scores, one for each file of the dataset. */
  readonly shards: number;
  readonly documents: number;
  /** Documents scored now; the scores of the others were there. */
  readonly scored: number;
  /** Tokens predicted, the documents' ends included. */
  readonly tokens: number;
  /** UTF-8 bytes of the documents. */
  readonly bytes: number;
  /** Σ −ln p over the tokens. */
  readonly nats: number;
  /** nats / ln 2 / bytes; null without bytes. */
  readonly bitsPerByte: number | null;
}

/** Columns of a file of scores. */
const SCHEMA = { id: "string", tokens: "int32", bytes: "int32", nats: "float64", bits_per_byte: { nullable: "float64" } } as const satisfies ParquetSchema;

/** What zephyr's bookkeeping of the task counts. */
const SCORED = "documents scored";

type ScoreRow = TextScore & { readonly id: string };

/** Scores texts, in their order. */
type ScoreFunction = (texts: readonly string[]) => Promise<readonly TextScore[]>;

/** Scores a dataset file by file as the task of an iris job. A file whose scores are there is not read again; a file of scores appears whole. The job's entry. */
export async function scoreShards(request: ScoreRequest): Promise<ScoreSummary> {
  const { location, dataset, output, through } = request;
  const { log, signal, registry } = irisCtx();
  const files = await shardsOf(dataset);
  await mkdir(output, { recursive: true }).catch((error: unknown) => {
    throw fileError(error, { action: "create the directory", path: output });
  });
  const lock = await lockDirectory(output);
  try {
    await claimOutput(output, location, files);
    if (through === undefined) {
      return await withServedModel(location, request, (line) => { log.info(line); }, (served) => scoreFiles(files, output, (texts) => scoreTexts(served, texts, signal)));
    }
    const token = through.tokenFile === undefined ? undefined : await readToken(through.tokenFile);
    return await scoreFiles(files, output, (texts) => scoreRemotely({ resolve: () => registry.resolve(through.endpoint), endpoint: through.endpoint, token, texts, signal }));
  } finally {
    await lock.release();
  }
}

async function shardsOf(dataset: string): Promise<ListedFile[]> {
  const found = await stat(dataset).catch((error: unknown) => {
    throw fileError(error, { action: "read", path: dataset });
  });
  return found.isFile() ? [{ path: dataset, name: basename(dataset), bytes: found.size }] : listFiles(dataset, { extensions: recordExtensions() });
}

async function scoreFiles(files: readonly ListedFile[], output: string, score: ScoreFunction): Promise<ScoreSummary> {
  const context = irisCtx();
  const { log, signal } = context;
  const bookkeeping = zephyrContext();
  const scored = (): number => bookkeeping.counters()[SCORED]?.sum ?? 0;
  const total = { documents: 0, tokens: 0, bytes: 0, nats: 0 };
  let before = 0;
  for (const [index, file] of files.entries()) {
    signal.throwIfAborted();
    const path = join(output, shardName(index, files.length));
    const present = await stat(path).then(() => true, () => false);
    if (!present) {
      const rows = scoreFile(file, score, signal, (documents) => {
        bookkeeping.count(SCORED, documents);
        context.progress({ done: before + scored(), unit: "documents", detail: `file ${String(index + 1)} of ${String(files.length)}` });
      });
      await writeParquet(path, rows, { schema: SCHEMA });
    }
    // What is counted is what the file says, whoever wrote it.
    const counted = await countScores(path);
    total.documents += counted.documents;
    total.tokens += counted.tokens;
    total.bytes += counted.bytes;
    total.nats += counted.nats;
    if (present) before += counted.documents;
    log.info(present ? "scores present" : "scored", { file: file.name, documents: counted.documents });
  }
  return { shards: files.length, ...total, scored: scored(), bitsPerByte: total.bytes === 0 ? null : total.nats / Math.LN2 / total.bytes };
}

async function* scoreFile(file: ListedFile, score: ScoreFunction, signal: AbortSignal, onScored: (documents: number) => void): AsyncGenerator<{ [column in keyof ScoreRow]: ScoreRow[column] }> {
  for await (const batch of batchesOf(documentsOf(file.name, readRecords(file.path, { signal })))) {
    const scores = await score(batch.map(({ text }: NamedText) => text));
    for (const [i, { id }] of batch.entries()) yield { id, ...(scores[i] as TextScore) };
    onScored(batch.length);
  }
}

async function countScores(path: string): Promise<{ documents: number; tokens: number; bytes: number; nats: number }> {
  const counted = { documents: 0, tokens: 0, bytes: 0, nats: 0 };
  for await (const row of new ParquetReader<ScoreRow>({ path, columns: ["tokens", "bytes", "nats"] })) {
    counted.documents += 1;
    counted.tokens += row.tokens;
    counted.bytes += row.bytes;
    counted.nats += row.nats;
  }
  return counted;
}

function shardName(index: number, count: number): string {
  const padded = (value: number): string => String(value).padStart(5, "0");
  return `part-${padded(index)}-of-${padded(count)}.parquet`;
}
