import { MarinError } from "@marin/ducky";
import { FileStorage } from "./file.js";
import { GcsStorage, type GcsOptions } from "./gcs.js";
import { MemoryStorage } from "./memory.js";
import type { ReadOptions, Storage, StorageEntry, StorageStat, WriteOptions } from "./storage.js";

/** Settings of {@link createStorage}. */
export interface CreateStorageOptions {
  /** How to reach Google Cloud Storage. Default: as the environment says. */
  readonly gcs?: GcsOptions;
}

/**
 * Files of every kind by their paths: plain paths and file: URLs are the local disk, gs://bucket/name is Google Cloud
 * Storage (its client is loaded on first use), memory://name is memory that belongs to this storage alone.
 */
export function createStorage(options: CreateStorageOptions = {}): Storage {
  const file = new FileStorage();
  const drivers: Readonly<Record<string, Storage>> = { file, gs: new GcsStorage(options.gcs), memory: new MemoryStorage() };
  return new DispatchingStorage((path) => {
    // One letter before the colon is a drive of Windows.
    const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(path)?.[1]?.toLowerCase();
    if (path === "" || path.includes("\0")) throw new MarinError("RIGGING_BAD_PATH", `"${path.replaceAll("\0", "\\0")}" is no path.`, { data: { path } });
    if (scheme === undefined) return { storage: file, path };
    const storage = Object.hasOwn(drivers, scheme) ? drivers[scheme] : undefined;
    if (storage !== undefined) return { storage, path };
    throw new MarinError("RIGGING_UNKNOWN_SCHEME", `${path}: paths of ${scheme}: are not supported; use gs://bucket/name, a file's path or memory://name.`, { data: { path, scheme } });
  });
}

/**
 * The files under a root: paths are relative to it, and no path leads out of it.
 *
 * @param root - a directory: a plain path, gs://bucket/prefix, memory://prefix
 * @param storage - where the root lies. Default: {@link createStorage}
 */
export function openStorage(root: string, storage: Storage = createStorage()): Storage {
  return new RootedStorage(root, storage);
}

class DispatchingStorage implements Storage {
  /** The storage of a path, and the path there. */
  readonly find: (path: string) => { readonly storage: Storage; readonly path: string };

  constructor(find: DispatchingStorage["find"]) {
    this.find = find;
  }

  async read(path: string, options?: ReadOptions): Promise<Uint8Array> {
    const found = this.find(path);
    return found.storage.read(found.path, options);
  }

  async *stream(path: string, options?: ReadOptions): AsyncGenerator<Uint8Array> {
    const found = this.find(path);
    yield* found.storage.stream(found.path, options);
  }

  async stat(path: string): Promise<StorageStat | undefined> {
    const found = this.find(path);
    return found.storage.stat(found.path);
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const found = this.find(prefix);
    yield* found.storage.list(found.path);
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, options?: WriteOptions): Promise<void> {
    const found = this.find(path);
    return found.storage.write(found.path, data, options);
  }

  async remove(path: string): Promise<boolean> {
    const found = this.find(path);
    return found.storage.remove(found.path);
  }
}

class RootedStorage extends DispatchingStorage {
  readonly #base: string;

  constructor(root: string, storage: Storage) {
    const base = /[/\\]$/.test(root) ? root : `${root}/`;
    super((path) => {
      if (/(^|[/\\])\.\.?([/\\]|$)/.test(path) || /^([/\\]|[a-z]+:)/i.test(path)) {
        throw new MarinError("RIGGING_BAD_PATH", `"${path}" is no path inside ${root}: use names joined by "/", without "." and "..".`, { data: { path, root } });
      }
      return { storage, path: base + path };
    });
    this.#base = base;
  }

  override async *list(prefix: string): AsyncGenerator<StorageEntry> {
    for await (const { path, bytes } of super.list(prefix)) yield { path: path.slice(this.#base.length), bytes };
  }
}
