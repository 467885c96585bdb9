import { MarinError } from "@marin/ducky";
import { changed, notThatVersion } from "./changed.js";
import { byUtf8, gather, rangeOf, untilAborted } from "./range.js";
import type { ReadOptions, StorageDriver, StorageEntry, StorageStat, VersionedContent, WriteIfOptions, WriteOptions } from "./storage.js";

interface Kept {
  readonly content: Uint8Array;
  readonly version: number;
}

/** Objects in this process's memory, gone with it. */
export class MemoryStorage implements StorageDriver {
  readonly remote = false;
  readonly #objects = new Map<string, Kept>();
  #writes = 0;

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const { start, end } = rangeOf(path, options);
    options.signal?.throwIfAborted();
    const kept = this.#objects.get(path);
    if (kept === undefined) throw new MarinError("RIGGING_NOT_FOUND", `Cannot read ${path}: there is no such object.`, { data: { path } });
    if (options.version !== undefined && options.version !== String(kept.version)) throw notThatVersion(path, { expected: options.version, found: String(kept.version) });
    return kept.content.slice(start, end);
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const content = await this.read(path, options);
    if (content.length > 0) yield content;
  }

  async stat(path: string): Promise<StorageStat | undefined> {
    const kept = this.#objects.get(path);
    return kept === undefined ? undefined : { bytes: kept.content.length, version: String(kept.version) };
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const paths = [...this.#objects.keys()].filter((path) => path.startsWith(prefix)).sort(byUtf8);
    for (const path of paths) {
      const kept = this.#objects.get(path);
      if (kept !== undefined) yield { path, bytes: kept.content.length };
    }
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, { ifAbsent = false, signal }: WriteOptions = {}): Promise<void> {
    signal?.throwIfAborted();
    const content = typeof data === "string" ? Buffer.from(data, "utf8") : data instanceof Uint8Array ? data : await gather(untilAborted(data, signal));
    this.#put(path, content, ifAbsent);
  }

  async readVersioned(path: string): Promise<VersionedContent | undefined> {
    const kept = this.#objects.get(path);
    return kept === undefined ? undefined : { content: kept.content.slice(), version: String(kept.version) };
  }

  async writeIf(path: string, data: Uint8Array | string, { version }: WriteIfOptions): Promise<string> {
    const kept = this.#objects.get(path);
    const found = kept === undefined ? undefined : String(kept.version);
    if (found !== version) throw changed(path, { expected: version, found });
    return this.#put(path, typeof data === "string" ? Buffer.from(data, "utf8") : data, false);
  }

  async copy(from: string, to: string, { ifAbsent = false }: WriteOptions = {}): Promise<void> {
    this.#put(to, await this.read(from), ifAbsent);
  }

  async rename(from: string, to: string, { ifAbsent = false }: WriteOptions = {}): Promise<void> {
    const kept = this.#objects.get(from);
    if (kept === undefined) throw new MarinError("RIGGING_NOT_FOUND", `Cannot rename ${from}: there is no such object.`, { data: { path: from } });
    this.#put(to, kept.content, ifAbsent);
    if (from !== to) this.#objects.delete(from);
  }

  async remove(path: string): Promise<boolean> {
    return this.#objects.delete(path);
  }

  #put(path: string, content: Uint8Array, ifAbsent: boolean): string {
    if (ifAbsent && this.#objects.has(path)) throw new MarinError("RIGGING_EXISTS", `Cannot write ${path}: something is there already.`, { data: { path } });
    const version = ++this.#writes;
    this.#objects.set(path, { content: Uint8Array.from(content), version });
    return String(version);
  }
}
