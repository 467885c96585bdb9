import { RandomKey } from "@marin/levanter";
import { ApiError } from "./api-error.js";
import type { CompletionRequest } from "./requests.js";
import type { ServedModel } from "./served-model.js";
import { StopFilter } from "./stop-filter.js";

/** A completion's end. */
export interface CompletionEnd {
  /** "stop": the model ended the document, or a stop text appeared; "length": all tokens asked for were drawn. */
  readonly finishReason: "stop" | "length";
  /** Tokens drawn. */
  readonly tokens: number;
}

/** A request as the model is asked: its prompt in tokens, its seed settled. */
export interface PreparedCompletion {
  readonly request: CompletionRequest;
  /** The end-of-text token, which begins a document, and the prompt's. */
  readonly prompt: readonly number[];
  readonly seed: number;
}

/**
 * Turns a request's prompt into tokens.
 *
 * @throws ApiError 400 when the model doesn't see so many tokens at once
 */
export function prepareCompletion({ model, tokenizer }: ServedModel, request: CompletionRequest): PreparedCompletion {
  const prompt = [tokenizer.endOfTextId, ...tokenizer.encode(request.prompt)];
  if (prompt.length > model.maxSequenceLength) {
    throw new ApiError(400, `the prompt has ${String(prompt.length)} tokens, the beginning of the document included; the model sees at most ${String(model.maxSequenceLength)} at once`, {
      code: "context_length_exceeded",
      param: "prompt",
    });
  }
  return { request, prompt, seed: request.seed ?? Math.floor(Math.random() * 2 ** 32) };
}

/**
 * Continues a prompt: gives the text in pieces, as it becomes certain. The draws are those of the sample step: the same prompt, seed and settings continue alike.
 *
 * @throws MarinError LEVANTER_INTERRUPTED when the signal is aborted, between two tokens
 */
export async function* complete({ sampler, tokenizer }: ServedModel, { request, prompt, seed }: PreparedCompletion, signal: AbortSignal): AsyncGenerator<string, CompletionEnd, undefined> {
  const { max_tokens: maxTokens, temperature, top_k: topK, top_p: topP, stop } = request;
  const key = RandomKey.fromSeed(seed).fold("sample");
  const filter = new StopFilter(typeof stop === "string" ? [stop] : (stop ?? []));
  // Tokens can end inside a character: the decoder holds its first bytes back.
  const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
  let tokens = 0;
  for await (const token of sampler.continue({ prompt, maxTokens, temperature, topK, topP, key, stopToken: tokenizer.endOfTextId, signal })) {
    tokens += 1;
    const text = filter.pass(decoder.decode(tokenizer.decodeBytes([token]), { stream: true }));
    if (text !== "") yield text;
    if (filter.stopped) return { finishReason: "stop", tokens };
  }
  const rest = filter.pass(decoder.decode()) + filter.end();
  if (rest !== "") yield rest;
  return { finishReason: tokens < maxTokens || filter.stopped ? "stop" : "length", tokens };
}
