import { chaosAt } from "../chaos/chaos.js";
import { type Journal, sizeOf } from "./journal.js";
import type { Report } from "./protocol.js";

/** Reports handed over at once, where there are so many. */
const batchReports = 1_000;

/** About the bytes from which on no further reports are added: a message holds them, and what one attempt alone has to say. */
const batchBytes = 4 * 2 ** 20;

/** Hands the reports of all journals to one reader, each journal's in order. */
export class ReportStream {
  readonly #journals = new Set<Journal>();
  /** Those with reports that the reader of the moment has not had. */
  #changed = new Set<Journal>();
  #wake: () => void = () => undefined;
  #reader = 0;

  /** A journal has something new. */
  changed(journal: Journal): void {
    this.#journals.add(journal);
    this.#changed.add(journal);
    this.#wake();
  }

  /** Nothing more of a journal is wanted. */
  remove(journal: Journal): void {
    this.#journals.delete(journal);
    this.#changed.delete(journal);
  }

  /**
   * Reports behind those that were acknowledged, and then each as it comes. A later reader ends an earlier one.
   *
   * @param signal - ends the reading
   * @param trust - whether what the reader was given counts as acknowledged once it asks for more: it is in this process, and falls with it
   */
  async *read(signal: AbortSignal, trust: boolean): AsyncGenerator<readonly Report[], void, void> {
    this.#reader += 1;
    const self = this.#reader;
    const sent = new WeakMap<Journal, number>();
    this.#changed = new Set(this.#journals);
    this.#wake();
    const stop = (): void => this.#wake();
    signal.addEventListener("abort", stop, { once: true });
    try {
      while (!signal.aborted && this.#reader === self) {
        const { batch, upTo } = await this.#next(sent);
        if (batch.length === 0) {
          if (this.#changed.size === 0 && !signal.aborted && this.#reader === self) await new Promise<void>((resolve) => (this.#wake = resolve));
          continue;
        }
        if (this.#reader !== self) return;
        await chaosAt("worker.report");
        yield batch;
        if (trust) for (const [journal, seq] of upTo) journal.acknowledge(seq);
      }
    } finally {
      signal.removeEventListener("abort", stop);
    }
  }

  async #next(sent: WeakMap<Journal, number>): Promise<{ readonly batch: Report[]; readonly upTo: Map<Journal, number> }> {
    const batch: Report[] = [];
    const upTo = new Map<Journal, number>();
    let bytes = 0;
    for (const journal of this.#changed) {
      if (batch.length >= batchReports || bytes >= batchBytes) break;
      // Behind the others for its next turn, so that a loud attempt keeps none waiting.
      this.#changed.delete(journal);
      const after = Math.max(sent.get(journal) ?? 0, journal.acknowledged);
      const reports = await journal.read(after);
      const last = reports.at(-1);
      if (last === undefined) continue;
      for (const report of reports) {
        batch.push(report);
        bytes += sizeOf(report);
      }
      sent.set(journal, last.seq);
      upTo.set(journal, last.seq);
      if (last.seq < journal.lastSeq) this.#changed.add(journal);
    }
    return { batch, upTo };
  }
}
