import { availableParallelism } from "node:os";
import { resolve } from "node:path";
import { entry, getIrisCtx, IrisClient, type Job, type JobResult } from "@marin/iris";
import { MarinError } from "@marin/rigging";
import { z } from "zod";
import { modelLocation, type Place } from "./locate-model.js";
import { runScoring, type DatasetPlace, type ScoreSummary } from "./score-dataset.js";
import type { serve } from "./serve-job.js";
import { SERVED_UNIT, type ServeRequest } from "./serve-request.js";
import { requireToken } from "./token.js";

/** Longest time, in milliseconds, that a cancelled task has before its process is ended, less what the last words need. */
const LONGEST_GRACE_MS = 2500;

const settings = z.strictObject({
  name: z.string().regex(/^[a-z][a-z0-9]*([-_][a-z0-9]+)*$/, "must be lower-case words joined by hyphens").default("inference").describe("name of the job, of its endpoint, and of the model for clients"),
  host: z.string().min(1).default("127.0.0.1").describe("address to listen on; another than this machine's own needs a token"),
  port: z.int().min(1).max(65535).optional().describe("port to listen on. Default: one that iris finds free"),
  tokenFile: z.string().min(1).optional().describe("file with the token that clients must show as Authorization: Bearer <token>. Default: none"),
  engine: z.enum(["auto", "onnx", "tfjs-node-gpu", "tfjs-node", "wasm", "cpu"]).default("auto").describe("what computes; auto: the fastest that works"),
  threads: z.int().min(1).optional().describe("threads that compute, and processors that the job asks for. Default: all of this machine, at most 4"),
  maxTokens: z.int().min(1).default(2048).describe("tokens that one completion may ask for"),
  maxBodyBytes: z.int().min(1024).default(8 << 20).describe("size of a request's body in bytes; a completion's is at most 1 MiB in any case"),
  concurrency: z.int().min(1).default(4).describe("requests worked on at once; they take turns, token by token"),
  queueSize: z.int().min(0).default(32).describe("requests that may wait; those beyond are refused with status 429"),
  graceMs: z.int().min(0).max(LONGEST_GRACE_MS).default(2000).describe("milliseconds that running requests have to end when the controller stops"),
});

/** How a model is served. Everything has a default. */
export type InferenceSettings = z.input<typeof settings>;

/** What an {@link InferenceController} serves, and how. */
export interface InferenceOptions extends InferenceSettings {
  /** Directory of a checkpoint, or a run or artifact with one under `checkpoints/`. */
  readonly checkpoint: Place;
  /** The `tokenizer.json` of the tokenizer that it was trained with, or a directory or artifact that holds one. */
  readonly tokenizer: Place;
  /** Runs the job. Default: that of the task this is called in, else one for this machine that is closed with the controller. */
  readonly client?: IrisClient | undefined;
}

/** A model that answers. */
export interface InferenceEndpoint {
  /** Where: `http://127.0.0.1:20713`. */
  readonly url: string;
  /** Name of the model, for requests. */
  readonly model: string;
  /** The job that serves it. */
  readonly job: Job;
}

/**
 * Serves a trained model as an iris job: an HTTP server with OpenAI-shaped completions, whole and streamed, and scores; and scores whole datasets, in jobs of
 * their own, with the model that is running.
 */
export class InferenceController implements AsyncDisposable {
  readonly #options: InferenceOptions;
  readonly #settings: z.output<typeof settings>;
  readonly #client: IrisClient;
  readonly #ownsClient: boolean;
  #started: Promise<InferenceEndpoint> | undefined;
  #job: Job | undefined;

  /** Nothing runs yet. Throws `MARIN_INFERENCE_OPTIONS` naming each field that is wrong, `MARIN_INFERENCE_TOKEN_NEEDED` for a host that others reach without a token. */
  constructor(options: InferenceOptions) {
    const { checkpoint: _checkpoint, tokenizer: _tokenizer, client, ...rest } = options;
    const parsed = settings.safeParse(rest);
    if (!parsed.success) {
      const problems = parsed.error.issues.map(({ path, message }) => `${path.map(String).join(".") || "options"}: ${message}`);
      throw new MarinError("MARIN_INFERENCE_OPTIONS", `the inference controller can't be made: ${problems.join("; ")}`, { data: { problems }, cause: parsed.error });
    }
    requireToken(parsed.data.host, parsed.data.tokenFile);
    this.#options = options;
    this.#settings = parsed.data;
    const found = client ?? getIrisCtx()?.client;
    this.#ownsClient = found === undefined;
    this.#client = found ?? IrisClient.local();
  }

  /**
   * Submits the job, once, and waits until it answers.
   *
   * @throws MarinError what the job failed with: MARIN_INFERENCE_ADDRESS, MARIN_INFERENCE_TOKENIZER, what reading checkpoint and tokenizer throws, IRIS_*
   */
  start(): Promise<InferenceEndpoint> {
    return (this.#started ??= this.#start());
  }

  async #start(): Promise<InferenceEndpoint> {
    const { name, threads = Math.min(4, availableParallelism()), port, tokenFile, ...rest } = this.#settings;
    const location = await modelLocation(this.#options.checkpoint, this.#options.tokenizer);
    const request: ServeRequest = { ...rest, location, name, threads, port, tokenFile: tokenFile === undefined ? undefined : resolve(tokenFile) };
    // Named, not imported: only the job's process needs what it works with.
    const work = entry<typeof serve>(new URL("./serve-job.js", import.meta.url), "serve");
    const job = await this.#client.submit({ name, entry: work, args: [request], resources: { cpu: threads }, maxRetriesPreemption: 0, ports: port === undefined ? ["http"] : [] });
    this.#job = job;
    for await (const event of job.events()) {
      if (event.type !== "progress" || event.progress.unit !== SERVED_UNIT) continue;
      const url = await this.#client.resolve(name);
      if (url !== undefined) return { url, model: name, job };
    }
    const { state, error } = await job.wait();
    throw error ?? new MarinError("MARIN_INFERENCE_ENDED", `the job ${job.id} ended (${state}) before it answered`, { data: { job: job.id, state } });
  }

  /**
   * Scores every document of a dataset with the running model; see `scoreDataset`, which starts one of its own. Requests of other clients are served in between.
   *
   * @param dataset - a file or directory of `.jsonl`, `.parquet`, `.txt`, `.md`, also packed; or a zephyr dataset of records
   * @param output - directory for the scores
   */
  async scoreDataset(dataset: DatasetPlace, output: string, options: { readonly signal?: AbortSignal } = {}): Promise<ScoreSummary> {
    await this.start();
    const location = await modelLocation(this.#options.checkpoint, this.#options.tokenizer);
    const { name, tokenFile } = this.#settings;
    const through = { endpoint: name, tokenFile: tokenFile === undefined ? undefined : resolve(tokenFile) };
    return runScoring({ client: this.#client, name: `${name}-scores`, location, dataset, output, through, cpu: 0, signal: options.signal });
  }

  /** Stops the job: running requests have `graceMs` to end, then they end with an error. Nothing of it runs when this returns. Undefined when it was never started. */
  async stop(): Promise<JobResult | undefined> {
    const job = this.#job;
    if (job !== undefined) await job.cancel("the inference controller was stopped");
    if (this.#ownsClient) await this.#client.close();
    return job?.wait();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop().then(() => undefined);
  }
}
