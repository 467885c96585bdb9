import { z } from "zod";
import { ApiError } from "./api-error.js";

/** What clients may ask for at most. */
export interface RequestLimits {
  /** Tokens of one completion. */
  readonly maxTokens: number;
}

const stopString = z.string().min(1).max(256);

/** The body of `POST /v1/completions`, in the form of OpenAI's completions, and `top_k`. */
const completionSchema = z.strictObject({
  model: z.string().optional().describe("the served model's name, as GET /v1/models has it. Default: that one"),
  prompt: z.string().default("").describe("text to continue, from the beginning of a document; empty: the model begins one"),
  max_tokens: z.int().min(1).default(16).describe("tokens to draw at most"),
  temperature: z.number().min(0).max(100).default(1).describe("above 1 bolder, below 1 safer; 0 always takes the likeliest token"),
  top_p: z.number().gt(0).max(1).default(1).describe("only the likeliest tokens that together have this probability can be drawn; 1: all"),
  top_k: z.int().min(0).default(0).describe("only this many of the likeliest tokens can be drawn; 0: all"),
  seed: z.int().min(0).optional().describe("names the draws: equal requests with equal seeds get equal texts. Default: a random one, which the answer tells"),
  stop: z.union([stopString, z.array(stopString).max(4)]).nullable().optional().describe("texts that end the completion where they first appear; they are not part of it. Default: none"),
  stream: z.boolean().default(false).describe("whether to send the text piece by piece, as server-sent events"),
  stream_options: z
    .strictObject({ include_usage: z.boolean().default(false).describe("whether a last event tells the counts of tokens") })
    .nullable()
    .optional()
    .describe("settings of a stream"),
  n: z.literal(1).default(1).describe("completions of the prompt: one"),
  user: z.string().max(1024).optional().describe("accepted and not used"),
});

/** A checked request for a completion. */
export type CompletionRequest = z.output<typeof completionSchema>;

/** The body of `POST /v1/score`. */
const scoreSchema = z.strictObject({
  model: z.string().optional().describe("the served model's name. Default: that one"),
  texts: z.array(z.string()).min(1).max(1024).describe("whole documents to score, each for itself"),
});

/** A checked request for scores. */
export type ScoreRequest = z.output<typeof scoreSchema>;

/** Checks a completion's request. Throws {@link ApiError} 400 naming the field. */
export function parseCompletionRequest(body: string, limits: RequestLimits): CompletionRequest {
  const request = parseBody(completionSchema, body);
  if (request.max_tokens > limits.maxTokens) {
    throw new ApiError(400, `max_tokens is ${String(request.max_tokens)}; this server draws at most ${String(limits.maxTokens)} tokens for one request`, { code: "invalid_value", param: "max_tokens" });
  }
  return request;
}

/** Checks a request for scores. Throws {@link ApiError} 400 naming the field. */
export function parseScoreRequest(body: string): ScoreRequest {
  return parseBody(scoreSchema, body);
}

function parseBody<S extends z.ZodType>(schema: S, body: string): z.output<S> {
  let value: unknown;
  try {
    value = JSON.parse(body);
  } catch (cause) {
    throw new ApiError(400, `the body is not JSON: ${(cause as Error).message}`, { code: "invalid_json", cause });
  }
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  if (issue?.code === "unrecognized_keys") {
    const param = [...issue.path, issue.keys[0] ?? ""].map(String).join(".");
    throw new ApiError(400, `there is no field "${param}" in this request`, { code: "unknown_field", param });
  }
  const param = issue?.path.map(String).join(".");
  throw new ApiError(400, param === undefined || param === "" ? `the body is no request: ${issue?.message ?? ""}` : `${param}: ${issue?.message ?? "is not valid"}`, { code: "invalid_value", param });
}
