import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openLocal } from "../src/controller/local.js";
import { startIrisServer } from "../src/server/server.js";
import { type Finished, type Running, startCli } from "./cli-run.js";

/** A controller behind a server, and `iris` commands that talk to it from a directory of their own. */
export interface CliController extends AsyncDisposable {
  readonly directory: string;
  /** Of the server, for commands in processes of their own. */
  readonly url: string;
  start(args: readonly string[], variables?: Record<string, string>): Running;
  run(args: readonly string[], variables?: Record<string, string>): Promise<Finished>;
}

/** Starts a controller, with one worker of 4 processors, and its server. */
export async function cliController(): Promise<CliController> {
  const directory = await mkdtemp(join(tmpdir(), "iris-cli-"));
  const { api, close } = await openLocal({ name: "local", capacity: { cpu: 4, memoryBytes: 8 * 2 ** 30, diskBytes: 0 }, directory: undefined });
  const server = await startIrisServer({ api: () => api });
  const start = (args: readonly string[], variables: Record<string, string> = {}): Running => startCli(args, { directory, variables: { IRIS_CONTROLLER: server.url, ...variables } });
  return {
    directory,
    url: server.url,
    start,
    run: (args, variables) => start(args, variables).finished,
    [Symbol.asyncDispose]: async () => {
      await server.close();
      await close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** A program of a job. */
export const node = (code: string): string[] => ["--", process.execPath, "-e", code];
