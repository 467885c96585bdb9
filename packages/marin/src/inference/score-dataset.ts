import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { availableParallelism } from "node:os";
import { join, resolve } from "node:path";
import { entry, getIrisCtx, IrisClient } from "@marin/iris";
import { fileError, MarinError } from "@marin/rigging";
import { writeJsonl, type Dataset } from "@marin/zephyr";
import { modelLocation, type Place } from "./locate-model.js";
import { documentsOf, type NamedText } from "./named-texts.js";
import type { ScoreRequest, scoreShards, ScoreSummary } from "./score-job.js";
import type { InferenceCompute, ModelLocation } from "./served-model.js";

export type { ScoreSummary } from "./score-job.js";

/** A dataset to score: a file or directory, or a dataset of records `{ id, text }`. */
export type DatasetPlace = string | Dataset<unknown>;

/** What {@link scoreDataset} scores. */
export interface ScoreDatasetOptions extends InferenceCompute {
  /** Directory of a checkpoint, or a run or artifact with one under `checkpoints/`. */
  readonly checkpoint: Place;
  /** The `tokenizer.json` of the tokenizer that it was trained with, or a directory or artifact that holds one. */
  readonly tokenizer: Place;
  /** A file or directory of `.jsonl`, `.parquet`, `.txt`, `.md`, also packed; or a zephyr dataset of records. A record has a `text`, and best an `id`. */
  readonly dataset: DatasetPlace;
  /** Directory for the scores: `part-00000-of-00003.parquet`, ... with `id`, `tokens`, `bytes`, `nats`, `bits_per_byte`, in the dataset's order, and `scores.json`. */
  readonly output: string;
  /** Runs the job. Default: that of the task this is called in, else one for this machine. */
  readonly client?: IrisClient | undefined;
  /** Cancels the job; the files scored before are kept. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Scores every document of a dataset, each once and for itself, as an iris job: a file of scores for each file of documents. Called again with the same
 * `output` after an interruption, it goes on with the files that are not scored yet.
 *
 * @throws MarinError MARIN_SCORES_OTHER when `output` holds scores of another model or dataset; MARIN_SCORE_RECORD for a record without text;
 * RIGGING_LOCKED when another job scores into `output`; what reading model and dataset throws; IRIS_*
 */
export async function scoreDataset(options: ScoreDatasetOptions): Promise<ScoreSummary> {
  const { dataset, output, engine, device, signal } = options;
  const threads = options.threads === undefined || options.threads === 0 ? Math.min(4, availableParallelism()) : options.threads;
  const location = await modelLocation(options.checkpoint, options.tokenizer);
  const given = options.client ?? getIrisCtx()?.client;
  const client = given ?? IrisClient.local();
  try {
    return await runScoring({ client, name: "scores", location, dataset, output, through: undefined, cpu: threads, engine, device, threads, signal });
  } finally {
    if (given === undefined) await client.close();
  }
}

/** A scoring job to run. */
export interface ScoringRun extends InferenceCompute {
  readonly client: IrisClient;
  readonly name: string;
  readonly location: ModelLocation;
  readonly dataset: DatasetPlace;
  readonly output: string;
  readonly through: ScoreRequest["through"];
  /** Processors that the job asks for. */
  readonly cpu: number;
  readonly signal?: AbortSignal | undefined;
}

/** Submits a scoring job and waits for its end. */
export async function runScoring({ client, name, location, dataset, output, through, cpu, engine, device, threads, signal }: ScoringRun): Promise<ScoreSummary> {
  const directory = resolve(output);
  // Of this call alone: another one on the same output is refused by the job, and must not find its dataset gone.
  const spooled = typeof dataset === "string" ? undefined : await spool(dataset, directory);
  const request: ScoreRequest = { location, dataset: spooled ?? resolve(dataset as string), output: directory, through, engine, device, threads };
  // Named, not imported: only the job's process needs what it works with.
  const work = entry<typeof scoreShards>(new URL("./score-job.js", import.meta.url), "scoreShards");
  try {
    const job = await client.submit({ name, entry: work, args: [request], resources: { cpu }, maxRetriesPreemption: 0 }, signal === undefined ? {} : { signal });
    const { state, value, error } = await job.wait();
    if (state === "SUCCEEDED") return value as ScoreSummary;
    signal?.throwIfAborted();
    throw error ?? new MarinError("MARIN_INFERENCE_ENDED", `the job ${job.id} ended (${state}) before all documents were scored`, { data: { job: job.id, state } });
  } finally {
    if (spooled !== undefined) await rm(spooled, { recursive: true });
  }
}

/** Documents of a spooled file: what an interruption loses at most. */
const SPOOL_DOCUMENTS = 10_000;

/** Writes a dataset of this process to files, for the job's process to read. */
async function spool(dataset: Dataset<unknown>, output: string): Promise<string> {
  const directory = await mkdir(output, { recursive: true })
    .then(() => mkdtemp(join(output, ".dataset-")))
    .catch((error: unknown) => {
      throw fileError(error, { action: "create a directory in", path: output });
    });
  let documents: NamedText[] = [];
  let files = 0;
  const flush = async (): Promise<void> => {
    await writeJsonl(join(directory, `${String(files++).padStart(5, "0")}.jsonl`), documents);
    documents = [];
  };
  for await (const document of documentsOf("dataset", dataset)) {
    documents.push(document);
    if (documents.length === SPOOL_DOCUMENTS) await flush();
  }
  if (documents.length > 0 || files === 0) await flush();
  return directory;
}
