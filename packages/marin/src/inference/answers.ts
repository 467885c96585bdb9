import { randomUUID } from "node:crypto";
import type { Logger } from "@marin/rigging";
import { ApiError } from "./api-error.js";
import { complete, type CompletionEnd, type PreparedCompletion } from "./complete.js";
import type { ServedModel } from "./served-model.js";
import type { RequestJob } from "./work.js";

/** A completion to answer with. */
export interface CompletionAnswer {
  readonly served: ServedModel;
  /** Name of the model, as clients see it. */
  readonly name: string;
  readonly completion: PreparedCompletion;
  readonly job: RequestJob;
}

interface Usage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** The whole completion as one JSON object. */
export async function answerCompletion({ served, name, completion, job }: CompletionAnswer): Promise<Response> {
  try {
    const pieces = complete(served, completion, job.signal);
    let text = "";
    let step = await pieces.next();
    for (; step.done !== true; step = await pieces.next()) text += step.value;
    return Response.json({ ...envelope(name, completion), choices: [choice(text, step.value.finishReason)], usage: usage(completion, step.value) });
  } catch (error) {
    throw job.reason(error);
  } finally {
    job.end();
  }
}

/**
 * The completion as server-sent events: one JSON object for each piece of text, the last with its `finish_reason`, then `[DONE]`. When something ends it
 * early, the last event is `{ "error": ... }` instead.
 */
export function streamCompletion({ served, name, completion, job, log }: CompletionAnswer & { readonly log: Logger }): Response {
  const encoder = new TextEncoder();
  const event = (data: unknown): Uint8Array => encoder.encode(`data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`);
  const same = envelope(name, completion);
  const includesUsage = completion.request.stream_options?.include_usage === true;
  async function* events(): AsyncGenerator<Uint8Array, void> {
    try {
      const pieces = complete(served, completion, job.signal);
      let step = await pieces.next();
      for (; step.done !== true; step = await pieces.next()) yield event({ ...same, choices: [choice(step.value, null)] });
      yield event({ ...same, choices: [choice("", step.value.finishReason)] });
      if (includesUsage) yield event({ ...same, choices: [], usage: usage(completion, step.value) });
      yield event("[DONE]");
    } catch (error) {
      yield event(told(job.reason(error), log).body());
    } finally {
      job.end();
    }
  }
  const headers = { "Content-Type": "text/event-stream; charset=utf-8", "Cache-Control": "no-cache", "X-Accel-Buffering": "no" };
  return new Response(streamOf(events()), { headers });
}

/** A body that asks for the next piece when the client has taken the last. */
function streamOf(pieces: AsyncGenerator<Uint8Array, void>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const step = await pieces.next();
        if (step.done === true) controller.close();
        else controller.enqueue(step.value);
      },
      async cancel() {
        await pieces.return();
      },
    },
    { highWaterMark: 0 },
  );
}

/** What a client is told of an error in the middle of a stream. */
function told(error: unknown, log: Logger): ApiError {
  if (error instanceof ApiError) return error;
  log.error("a stream failed", { error: error instanceof Error ? error.message : String(error), stack: error instanceof Error ? error.stack : undefined });
  return new ApiError(500, "the server failed on this request; its log says why", { code: "internal_error" });
}

function envelope(name: string, { seed }: PreparedCompletion): { id: string; object: "text_completion"; created: number; model: string; seed: number } {
  return { id: `cmpl-${randomUUID()}`, object: "text_completion", created: Math.floor(Date.now() / 1000), model: name, seed };
}

function choice(text: string, finishReason: CompletionEnd["finishReason"] | null): { text: string; index: 0; logprobs: null; finish_reason: string | null } {
  return { text, index: 0, logprobs: null, finish_reason: finishReason };
}

function usage({ prompt }: PreparedCompletion, { tokens }: CompletionEnd): Usage {
  return { prompt_tokens: prompt.length, completion_tokens: tokens, total_tokens: prompt.length + tokens };
}
