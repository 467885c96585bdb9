import { randomUUID } from "node:crypto";
import type { EventCursor, WireEvent } from "../client/iris-api.js";
import { History } from "../jobs/history.js";
import type { LineLog } from "../jobs/line-log.js";

/** Events given at a time. */
const batchSize = 256;

/** An event, and how many log lines the job had before it. */
interface FedEvent {
  readonly event: WireEvent;
  readonly linesBefore: number;
}

/** Events of a job for one reader, and where it is then. */
export interface EventBatch {
  readonly events: readonly WireEvent[];
  readonly cursor: EventCursor;
}

/**
 * What happens to a job, for any number of followers: log lines, progress, metrics and changes of state in the order they came. The latest are held in
 * memory, once for all readers; lines that are no longer held, or that another controller has seen, come from the job's log.
 */
export class JobFeed {
  /** Names this history: cursors of another one are of use for their lines only. */
  readonly #name = randomUUID();
  readonly #history = new History<FedEvent>();
  readonly #log: () => LineLog;
  #lines: number;

  /**
   * @param log - the job's
   * @param lines - how many it holds already
   */
  constructor(log: () => LineLog, lines: number) {
    this.#log = log;
    this.#lines = lines;
  }

  /** Adds an event. A log line has been added to the log before. */
  push(event: WireEvent): void {
    const bytes = event.type === "log" ? 200 + 2 * event.line.message.length : event.type === "state" ? 200 + 20 * event.status.tasks.length : 200;
    this.#history.push({ event, linesBefore: this.#lines }, bytes);
    if (event.type === "log") this.#lines += 1;
  }

  /** Says that there are no more events. */
  end(): void {
    this.#history.end();
  }

  /**
   * The events from a cursor, or all that are held, to the end of the job.
   *
   * @param cursor - where an earlier reader stopped
   * @param signal - ends the reading with its reason
   */
  async *read(cursor: EventCursor | undefined, signal?: AbortSignal): AsyncGenerator<EventBatch, void, void> {
    let next = cursor?.history === this.#name ? cursor.next : 0;
    let lines = cursor?.lines ?? 0;
    for (;;) {
      signal?.throwIfAborted();
      if (next < this.#history.first || this.#missing(next, lines)) {
        next = Math.max(next, this.#history.first);
        // What is not held any more: its lines are in the log, as far as that goes back.
        const upTo = this.#linesAt(next);
        for await (const batch of this.#log().read({ from: lines, ...(signal === undefined ? {} : { signal }) })) {
          const wanted = batch.lines.slice(0, Math.max(0, batch.lines.length - (batch.next - upTo)));
          lines = Math.min(batch.next, upTo);
          if (wanted.length > 0) yield this.#batch(wanted.map((line): WireEvent => ({ type: "log", line })), next, lines);
          if (batch.next >= upTo) break;
        }
        lines = Math.max(lines, upTo);
      }
      const fed = this.#history.slice(next, batchSize);
      if (fed.length > 0) {
        next += fed.length;
        // Lines that the reader has from another history are not given twice.
        const events = fed.filter(({ event, linesBefore }) => event.type !== "log" || linesBefore >= lines).map(({ event }) => event);
        const last = fed.at(-1) as FedEvent;
        lines = Math.max(lines, last.linesBefore + (last.event.type === "log" ? 1 : 0));
        if (events.length > 0) yield this.#batch(events, next, lines);
      } else if (this.#history.ended) {
        return;
      } else {
        await this.#history.changed(signal);
      }
    }
  }

  /** Whether lines lie between what the reader has and the next event. */
  #missing(next: number, lines: number): boolean {
    return lines < this.#linesAt(next);
  }

  #linesAt(next: number): number {
    return this.#history.slice(next, 1)[0]?.linesBefore ?? this.#lines;
  }

  #batch(events: readonly WireEvent[], next: number, lines: number): EventBatch {
    return { events, cursor: { history: this.#name, next, lines } };
  }
}
