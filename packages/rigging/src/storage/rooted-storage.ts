import { MarinError } from "@marin/ducky";
import { globbed } from "./glob.js";
import { asDirectory, walked } from "./scheme-storage.js";
import type { DirectoryEntry, ReadOptions, Storage, StorageEntry, StorageStat, VersionedContent, WalkedDirectory, WriteIfOptions, WriteOptions } from "./storage.js";

/** The files under a root, by paths relative to it. */
export class RootedStorage implements Storage {
  readonly #root: string;
  readonly #storage: Storage;

  /**
   * @param root - a directory
   * @param storage - where it lies
   */
  constructor(root: string, storage: Storage) {
    this.#root = asDirectory(root);
    this.#storage = storage;
  }

  async read(path: string, options?: ReadOptions): Promise<Uint8Array> {
    return this.#storage.read(this.#inside(path), options);
  }

  async *stream(path: string, options?: ReadOptions): AsyncGenerator<Uint8Array> {
    yield* this.#storage.stream(this.#inside(path), options);
  }

  async stat(path: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<StorageStat | undefined> {
    return this.#storage.stat(this.#inside(path), options);
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    for await (const { path, bytes } of this.#storage.list(this.#inside(prefix))) yield { path: this.#relative(path), bytes };
  }

  async *listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    for await (const entry of this.#storage.listDirectory(this.#inside(directory))) yield { ...entry, path: this.#relative(entry.path) };
  }

  walk(directory: string): AsyncGenerator<WalkedDirectory> {
    return walked(this, asDirectory(directory));
  }

  async *glob(pattern: string): AsyncGenerator<StorageEntry> {
    this.#inside(pattern);
    yield* globbed(this, pattern);
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, options?: WriteOptions): Promise<void> {
    return this.#storage.write(this.#named(path), data, options);
  }

  async remove(path: string): Promise<boolean> {
    return this.#storage.remove(this.#inside(path));
  }

  async readVersioned(path: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<VersionedContent | undefined> {
    return this.#storage.readVersioned(this.#inside(path), options);
  }

  async writeIf(path: string, data: Uint8Array | string, options: WriteIfOptions): Promise<string> {
    return this.#storage.writeIf(this.#named(path), data, options);
  }

  async copy(from: string, to: string, options?: WriteOptions): Promise<void> {
    return this.#storage.copy(this.#named(from), this.#named(to), options);
  }

  async rename(from: string, to: string, options?: WriteOptions): Promise<void> {
    return this.#storage.rename(this.#named(from), this.#named(to), options);
  }

  /** The path of a file. */
  #named(path: string): string {
    if (path === "") throw new MarinError("RIGGING_BAD_PATH", `"" names no file in ${this.#root}: give it a name.`, { data: { path, root: this.#root } });
    return this.#inside(path);
  }

  #inside(path: string): string {
    if (/(^|[/\\])\.\.?([/\\]|$)/.test(path) || /^([/\\]|[a-z]+:)/i.test(path)) {
      throw new MarinError("RIGGING_BAD_PATH", `"${path}" is no path inside ${this.#root}: use names joined by "/", without "." and "..".`, { data: { path, root: this.#root } });
    }
    return this.#root + path;
  }

  #relative(path: string): string {
    return path.slice(this.#root.length);
  }
}
