import { once } from "node:events";
import { PassThrough } from "node:stream";
import { createGzip } from "node:zlib";
import type { Storage } from "@marin/iris";
import { currentStorage } from "../storage.js";

/** Bytes gathered before the writer waits for the file. */
const gatheredBytes = 1 << 20;

/**
 * A file that is written in pieces and appears whole, when {@link WholeFile.close} returns, or not at all. One whose name
 * ends in .gz is packed.
 */
export class WholeFile {
  readonly #stream: PassThrough | ReturnType<typeof createGzip>;
  readonly #written: Promise<void>;
  readonly #failed: Promise<never>;
  #bytes = 0;
  #ended = false;

  constructor(path: string, storage: Storage = currentStorage()) {
    this.#stream = path.toLowerCase().endsWith(".gz") ? createGzip() : new PassThrough({ highWaterMark: gatheredBytes });
    this.#written = storage.write(path, this.#counted());
    this.#failed = this.#written.then(() => new Promise<never>(() => undefined));
    // Failures are told by write and close; until one of them asks, they are not unhandled.
    this.#failed.catch(() => undefined);
    this.#stream.on("error", () => undefined);
  }

  /** Whether it was closed or aborted. */
  get ended(): boolean {
    return this.#ended;
  }

  /** Adds bytes. Resolves when there is room for more. */
  async write(bytes: Uint8Array): Promise<void> {
    if (this.#stream.write(bytes)) return;
    // A stream whose file failed closes without the reason: the file's own error is the one to tell.
    const drained = once(this.#stream, "drain").catch(() => this.#failed);
    await Promise.race([drained, this.#failed]);
  }

  /** Puts the file in its place; returns its size in bytes. */
  async close(): Promise<number> {
    this.#ended = true;
    this.#stream.end();
    await this.#written;
    return this.#bytes;
  }

  /** Drops everything: what was at the path stays. */
  async abort(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#stream.destroy(new Error("aborted"));
    await this.#written.catch(() => undefined);
  }

  async *#counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#stream) {
      this.#bytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
}
