import { once } from "node:events";
import type { Writable } from "node:stream";
import { escapeControls } from "../escape.js";
import { systemClock } from "../time/clock.js";
import { RateLimiter } from "../time/token-bucket.js";

/** What the command needs of the process. */
export interface FsutilEnvironment {
  readonly stdout: Writable;
  readonly stderr: Writable;
  /** Whether progress can be drawn on standard error. */
  readonly interactive: boolean;
  /** Aborted when the user wants to stop. */
  readonly signal: AbortSignal;
}

/** Milliseconds between drawings of the progress. */
const drawEveryMs = 100;

/** Where results and progress go. */
export class Terminal {
  readonly #environment: FsutilEnvironment;
  readonly #json: boolean;
  readonly #draws = new RateLimiter(drawEveryMs, systemClock);
  #drawn = false;

  constructor(environment: FsutilEnvironment, json: boolean) {
    this.#environment = environment;
    this.#json = json;
  }

  /** A result: one line of text, or one of JSON. Waits while the reader is slow. */
  async result(value: Readonly<Record<string, unknown>>, text: string): Promise<void> {
    this.clear();
    await this.write(this.#json ? `${JSON.stringify(value)}\n` : `${escapeControls(text)}\n`);
  }

  /** Content, as it is. Waits while the reader is slow. */
  async write(content: string | Uint8Array): Promise<void> {
    const { stdout, signal } = this.#environment;
    signal.throwIfAborted();
    if (!stdout.write(content)) await once(stdout, "drain", { signal });
  }

  /** How far the work is; drawn over what was drawn before, where somebody looks. */
  progress(text: () => string): void {
    if (!this.#environment.interactive || this.#draws.ready() === undefined) return;
    this.#environment.stderr.write(`\r\u001b[K${escapeControls(text())}`);
    this.#drawn = true;
  }

  /** Takes the progress away. */
  clear(): void {
    if (this.#drawn) this.#environment.stderr.write("\r\u001b[K");
    this.#drawn = false;
  }
}
