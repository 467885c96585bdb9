import { once } from "node:events";
import { PassThrough } from "node:stream";
import { createGzip } from "node:zlib";
import { MarinError, type Storage } from "@marin/iris";
import { packZstd } from "../compression/zstd-frame.js";
import { currentStorage } from "../storage.js";

/** Bytes gathered before the writer waits for the file. */
const gatheredBytes = 1 << 20;

/** Content of one zstd frame: each can be unpacked alone, and none needs much memory. */
const frameBytes = 1 << 22;

/** Level 2 is the fast end: text a third of its size, packed faster than it is parsed. */
const zstdLevel = 2;

/**
 * A file that is written in pieces and appears whole, when {@link WholeFile.close} returns, or not at all. One whose name
 * ends in .gz or .zst is packed.
 */
export class WholeFile {
  readonly #stream: PassThrough | ReturnType<typeof createGzip>;
  readonly #written: Promise<void>;
  readonly #failed: Promise<never>;
  /** What the next zstd frame holds; undefined where the file is none of zstd. */
  #frame: Buffer[] | undefined;
  #frameLength = 0;
  #frames = 0;
  #bytes = 0;
  #ended = false;

  /** @throws MarinError ZEPHYR_UNKNOWN_FORMAT for a compression that is read only */
  constructor(path: string, storage: Storage = currentStorage()) {
    const name = path.toLowerCase();
    if (name.endsWith(".xz")) {
      throw new MarinError("ZEPHYR_UNKNOWN_FORMAT", `${path} cannot be written: xz is read only; names of packed files end in .zst or .gz.`, { data: { path } });
    }
    if (name.endsWith(".zst")) this.#frame = [];
    this.#stream = name.endsWith(".gz") ? createGzip() : new PassThrough({ highWaterMark: gatheredBytes });
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
    if (this.#frame === undefined) return this.#hand(bytes);
    for (let at = 0; at < bytes.length; ) {
      const part = bytes.subarray(at, at + frameBytes - this.#frameLength);
      // A copy: the frame may wait, and the caller may use its bytes again.
      this.#frame.push(Buffer.from(part));
      this.#frameLength += part.length;
      at += part.length;
      if (this.#frameLength === frameBytes) await this.#endFrame();
    }
  }

  /** Puts the file in its place; returns its size in bytes. */
  async close(): Promise<number> {
    // A zstd file without a frame is none.
    if (this.#frame !== undefined && (this.#frameLength > 0 || this.#frames === 0)) await this.#endFrame();
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

  async #endFrame(): Promise<void> {
    const content = Buffer.concat(this.#frame ?? []);
    this.#frame = [];
    this.#frameLength = 0;
    this.#frames += 1;
    await this.#hand(await packZstd(content, zstdLevel));
  }

  async #hand(bytes: Uint8Array): Promise<void> {
    if (this.#stream.write(bytes)) return;
    // A stream whose file failed closes without the reason: the file's own error is the one to tell.
    const drained = once(this.#stream, "drain").catch(() => this.#failed);
    await Promise.race([drained, this.#failed]);
  }

  async *#counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of this.#stream) {
      this.#bytes += (chunk as Buffer).length;
      yield chunk as Buffer;
    }
  }
}
