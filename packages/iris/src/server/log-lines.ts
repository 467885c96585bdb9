import { redactor, toPlain } from "@marin/rigging";
import type { IrisApi, LogRequest } from "../client/iris-api.js";
import type { LogLine } from "../jobs/job-status.js";
import type { Logger } from "../platform.js";
import { errorResponse } from "./http-error.js";

/** The lines of a log that contain a text. */
export async function collectLines(api: IrisApi, request: LogRequest, contains: string | undefined, signal: AbortSignal): Promise<LogLine[]> {
  const all: LogLine[] = [];
  for await (const { lines } of api.logs(request, { signal })) all.push(...lines.filter((line) => matches(line, contains)));
  return all;
}

/** How to send lines. */
export interface LinesOptions {
  readonly contains: string | undefined;
  /** Called once nothing more is sent. */
  readonly release: (() => void) | undefined;
  /** Aborted when the client has gone. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

/**
 * Lines as they come, one JSON object a line: those of a log are `{ "line", "next" }`, where `next` is where to go on reading; the last is `{ "end": true }`, or `{ "error" }` where the reading
 * failed, so that a log that breaks off never looks complete. Nothing is read ahead of the client.
 */
export function linesResponse(api: IrisApi, request: LogRequest, { contains, release, signal, log }: LinesOptions): Response {
  const ended = new AbortController();
  const batches = api.logs(request, { signal: AbortSignal.any([signal, ended.signal]) })[Symbol.asyncIterator]();
  const encoder = new TextEncoder();
  const finish = (): void => {
    ended.abort();
    release?.();
  };
  signal.addEventListener("abort", finish, { once: true });
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        try {
          const next = await batches.next();
          if (next.done === true) {
            controller.enqueue(encoder.encode('{"end":true}\n'));
            finish();
            controller.close();
            return;
          }
          const position = next.value.next;
          const text = next.value.lines.filter((line) => matches(line, contains)).map((line, index, lines) => `${JSON.stringify({ line: toPlain(line, redactor), ...(index === lines.length - 1 ? { next: position } : {}) })}\n`).join("");
          controller.enqueue(encoder.encode(text));
        } catch (error) {
          finish();
          if (!signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(await errorResponse(error, log).json())}\n`));
          controller.close();
        }
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
  return new Response(body, { headers: { "Content-Type": "application/x-ndjson; charset=utf-8" } });
}

function matches({ message, fields }: LogLine, contains: string | undefined): boolean {
  return contains === undefined || message.includes(contains) || (fields !== undefined && JSON.stringify(fields).includes(contains));
}
