import { resolve } from "node:path";
import { isMarinError, MarinError } from "@marin/rigging";
import { Command, CommanderError, Option } from "commander";
import { InferenceController, type InferenceEndpoint } from "./iris.js";
import { locateModel, modelLocation, type LocatedModel } from "./locate-model.js";

/** What the command needs of the process. */
export interface ServeEnvironment {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Where the user is: relative paths start here. */
  readonly workingDirectory: string;
  /** Stops the server. */
  readonly signal: AbortSignal;
}

interface Flags {
  readonly port?: number;
  readonly host: string;
  readonly tokenFile?: string;
  readonly tokenizer?: string;
  readonly name?: string;
  readonly threads?: number;
  readonly concurrency: number;
  readonly maxTokens: number;
  readonly help?: true;
}

function createCommand(): Command {
  const whole = (flags: string, description: string): Option =>
    new Option(flags, description).argParser((text: string) => {
      if (/^\d{1,9}$/.test(text)) return Number(text);
      throw new MarinError("MARIN_USAGE", `${flags.split(" ")[0] ?? flags} needs a whole number, got ${JSON.stringify(text)}`);
    });
  return new Command("pnpm serve")
    .argument("[path]", "a store that holds a trained model (--prefix of pnpm experiment), a train step's artifact in it, or with --tokenizer a checkpoint", ".marin")
    .option("--tokenizer <path>", "the tokenizer.json that the model was trained with (default: what the artifact's lineage names)")
    .addOption(whole("--port <number>", "port to listen on (default: one that is free)"))
    .option("--host <address>", "address to listen on; another than this machine's own needs --token-file", "127.0.0.1")
    .option("--token-file <file>", "file with the token that clients must show: Authorization: Bearer <token>")
    .option("--name <name>", "name of the model for clients (default: the artifact's)")
    .addOption(whole("--threads <number>", "threads that compute (default: all of this machine, at most 4)"))
    .addOption(whole("--concurrency <number>", "requests worked on at once; they take turns, token by token").default(4))
    .addOption(whole("--max-tokens <number>", "tokens that one completion may ask for").default(2048))
    .helpOption(false)
    .option("-h, --help", "show this")
    .exitOverride()
    .configureOutput({ writeErr: () => undefined });
}

/** Runs `pnpm serve` with these arguments until its signal is aborted. Returns the exit code: 0, 1 for failures, 2 for wrong usage. */
export async function serveCommand(argv: readonly string[], environment: ServeEnvironment): Promise<number> {
  try {
    const command = createCommand();
    command.parse(argv, { from: "user" });
    const flags = command.opts<Flags>();
    if (flags.help === true) {
      environment.stdout.write(command.helpInformation());
      return 0;
    }
    await run(command.processedArgs[0] as string, flags, environment);
    return 0;
  } catch (error) {
    const usage = error instanceof CommanderError || isMarinError(error, "MARIN_USAGE") || isMarinError(error, "MARIN_INFERENCE_OPTIONS");
    const message = (error instanceof Error ? error.message : String(error)).replace(/^error: /, "");
    environment.stderr.write(`error: ${message}${error instanceof CommanderError ? "; --help shows every flag" : ""}\n`);
    return usage ? 2 : 1;
  }
}

async function run(path: string, flags: Flags, { stdout, stderr, workingDirectory, signal }: ServeEnvironment): Promise<void> {
  const place = resolve(workingDirectory, path);
  const inPlace = (file: string | undefined): string | undefined => (file === undefined ? undefined : resolve(workingDirectory, file));
  const tokenizer = inPlace(flags.tokenizer);
  const tokenFile = inPlace(flags.tokenFile);
  const located: LocatedModel = tokenizer === undefined ? await locateModel(place) : { name: "model", ...(await modelLocation(place, tokenizer)) };
  const { host, port, threads, concurrency, maxTokens } = flags;
  const set = Object.fromEntries(Object.entries({ port, threads, tokenFile }).filter(([, value]) => value !== undefined));
  const controller = new InferenceController({ ...located, name: flags.name ?? located.name, host, concurrency, maxTokens, ...set });
  try {
    const endpoint = await Promise.race([controller.start(), aborted(signal)]);
    if (endpoint === undefined) return;
    stdout.write(`serving ${located.checkpoint}\n${example(endpoint, tokenFile)}\nCtrl-C stops it.\n`);
    await Promise.race([relayProblems(endpoint, stderr), aborted(signal)]);
    if (signal.aborted) return;
    const { state, error } = await endpoint.job.wait();
    throw error ?? new MarinError("MARIN_INFERENCE_ENDED", `the job ${endpoint.job.id} ended: ${state}`);
  } finally {
    await controller.stop();
  }
}

/** Passes on what the job warns of, until it ends. */
async function relayProblems({ job }: InferenceEndpoint, stderr: ServeEnvironment["stderr"]): Promise<void> {
  for await (const { message, fields } of job.logs({ follow: true, minLevel: "warn" })) {
    const detail = fields?.["error"];
    stderr.write(`${message}${typeof detail === "string" ? `: ${detail}` : ""}\n`);
  }
}

function example({ url, model }: InferenceEndpoint, tokenFile: string | undefined): string {
  const token = tokenFile === undefined ? "" : ` -H "Authorization: Bearer $(cat ${tokenFile})"`;
  const request = JSON.stringify({ model, prompt: "The people of", max_tokens: 60, temperature: 0.7, top_k: 50, stream: true });
  return `curl -N ${url}/v1/completions -H "Content-Type: application/json"${token} -d '${request}'`;
}

function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((done) => {
    if (signal.aborted) done(undefined);
    signal.addEventListener("abort", () => { done(undefined); }, { once: true });
  });
}
