import { getIrisCtx } from "@marin/iris";
import type { Settings } from "./options.js";

/** How often the log tells where the work is, when something has changed. */
const logEveryMs = 5_000;

/** Tells how far an execution has come: to the caller, as the task's progress, and in its log. Warns when nothing is finished for long. */
export class ProgressTeller implements Disposable {
  readonly #settings: Settings;
  readonly #stages: number;
  readonly #shardsInAll: number;
  readonly #context = getIrisCtx();
  readonly #running = new Map<number, string>();
  readonly #logging: NodeJS.Timeout;
  #stall: NodeJS.Timeout | undefined;
  #before = 0;
  #stage = { index: 0, name: "", shards: 0, finished: 0 };
  #workerLosses = 0;
  #logged = "";

  constructor(settings: Settings, stages: readonly { readonly shards: readonly unknown[] }[]) {
    this.#settings = settings;
    this.#stages = stages.length;
    this.#shardsInAll = stages.reduce((sum, { shards }) => sum + shards.length, 0);
    this.#logging = setInterval(() => this.#log(), logEveryMs).unref();
  }

  /** A stage begins, or is found finished. */
  begin({ index, name, shards }: { readonly index: number; readonly name: string; readonly shards: readonly unknown[] }, finished: number): void {
    this.#before += this.#stage.shards;
    this.#stage = { index, name, shards: shards.length, finished };
    this.#running.clear();
    this.#watch();
    this.#tell();
  }

  started(shard: number, label: string): void {
    this.#running.set(shard, label);
    this.#tell();
  }

  finished(shard: number): void {
    this.#running.delete(shard);
    this.#stage.finished += 1;
    this.#watch();
    this.#tell();
  }

  lost(shard: number): void {
    this.#running.delete(shard);
    this.#workerLosses += 1;
    this.#tell();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#logging);
    clearTimeout(this.#stall);
  }

  get #text(): string {
    const { index, name, shards, finished } = this.#stage;
    const queued = shards - finished - this.#running.size;
    const lost = this.#workerLosses === 0 ? "" : `, ${String(this.#workerLosses)} workers lost`;
    return `stage ${String(index + 1)} of ${String(this.#stages)} (${name}): ${String(finished)} of ${String(shards)} shards finished, ${String(this.#running.size)} in work, ${String(queued)} waiting${lost}`;
  }

  #tell(): void {
    const { index, shards, finished } = this.#stage;
    const text = this.#text;
    this.#settings.onProgress({ stage: index, stages: this.#stages, shards, finished, running: this.#running.size, workerLosses: this.#workerLosses, text });
    this.#context?.progress({ done: this.#before + finished, total: this.#shardsInAll, unit: "shards", detail: text });
  }

  #log(): void {
    const text = this.#text;
    if (text === this.#logged) return;
    this.#logged = text;
    this.#settings.log.info(text, { name: this.#settings.name });
  }

  #watch(): void {
    clearTimeout(this.#stall);
    const { stallWarningMs, log, name } = this.#settings;
    this.#stall = setTimeout(() => {
      log.warn(`no shard was finished for ${String(stallWarningMs)} ms`, { name, inWork: [...this.#running].map(([shard, label]) => `${String(shard)} (${label})`) });
      this.#watch();
    }, stallWarningMs).unref();
  }
}
