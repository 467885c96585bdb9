import type { IrisApi } from "../client/iris-api.js";
import type { QueryResult } from "../server/query-worker.js";
import type { Bundle } from "../bundles/bundle.js";
import type { CliEnvironment } from "./environment.js";
import type { Output } from "./output.js";

/** The controller that a command talks to. */
export interface Target extends AsyncDisposable {
  readonly api: IrisApi;
  /** For people: its URL, or its directory. */
  readonly name: string;
  /** Whether it ends with this command, and what it runs with it. */
  readonly embedded: boolean;
  /** Keeps a bundle where the controller's workers find it. */
  putBundle(bundle: Bundle): Promise<void>;
  /** Asks the controller's database. */
  query(sql: string, maxRows: number | undefined, signal: AbortSignal): Promise<QueryResult>;
}

/** What each command gets. */
export interface CommandContext {
  readonly environment: CliEnvironment;
  readonly output: Output;
  /** The controller; what `start` says where none runs: "no" refuses, "read" opens its directory to look at, "run" starts one that ends with the command. */
  readonly connect: (start: "no" | "read" | "run") => Promise<Target>;
  /** Aborted when the command is to end. */
  readonly signal: AbortSignal;
}

/** Flags that name the controller. */
export interface TargetFlags {
  readonly controller?: string;
  readonly tokenFile?: string;
  readonly dir?: string;
  readonly json?: true;
}
