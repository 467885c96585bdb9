import type { ServerLimits } from "./server.js";
import type { InferenceCompute, ModelLocation } from "./served-model.js";

/** What a serving job does: plain data. */
export interface ServeRequest extends ServerLimits, InferenceCompute {
  readonly location: ModelLocation;
  /** Name of the model for clients, and of the endpoint in the registry. */
  readonly name: string;
  readonly host: string;
  /** Undefined: the one that iris gives the job under the name "http". */
  readonly port: number | undefined;
  /** File with the token that clients must show; undefined: none. */
  readonly tokenFile: string | undefined;
  /** Milliseconds that running requests have to end when the job is cancelled. */
  readonly graceMs: number;
}

/** What a serving job did. */
export interface ServeSummary {
  /** Completions and scores answered. */
  readonly requests: number;
}

/** Unit of the progress that a serving job reports; the first report says that it answers. */
export const SERVED_UNIT = "requests";
