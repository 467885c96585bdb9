import { createHash } from "node:crypto";
import { MarinError } from "@marin/ducky";
import { withLease } from "../leases/lease.js";
import type { Clock } from "../time/clock.js";
import { byUtf8 } from "./range.js";
import { asDirectory } from "./scheme-storage.js";
import type { DirectoryEntry, ReadOptions, Storage, StorageDriver, StorageEntry, StorageStat, VersionedContent, WriteIfOptions, WriteOptions } from "./storage.js";

/** What mirror:// paths mean. */
export interface MirrorOptions {
  /** The near directory: what was read is kept here, and what is written goes here. A plain path, gs://bucket/prefix, s3://bucket/prefix. */
  readonly local: string;
  /** The far directories, in the order in which they are asked. */
  readonly remotes: readonly string[];
  /** How long a copy's lock outlives the last sign of whoever makes the copy, in milliseconds. Default 90,000. */
  readonly lockTtlMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** Where the locks of copies lie, in the near directory. */
const lockDirectory = ".mirror-locks/";

/**
 * mirror://path: the file of that path in the near directory; where it is missing it is copied there from the first far directory that has it,
 * once, whoever asks. Listings are the union, the near one's files first; writing and removing touch the near directory alone.
 */
export class MirrorStorage implements StorageDriver {
  /** What a copy reads is charged where it is read. */
  readonly remote = false;
  readonly #local: string;
  readonly #remotes: readonly string[];
  readonly #storage: Storage;
  readonly #options: MirrorOptions;

  /**
   * @param options - what the paths mean
   * @param storage - where the directories lie
   */
  constructor(options: MirrorOptions, storage: Storage) {
    this.#local = asDirectory(options.local);
    this.#remotes = options.remotes.map(asDirectory);
    this.#storage = storage;
    this.#options = options;
  }

  async read(path: string, options: ReadOptions): Promise<Uint8Array> {
    return this.#storage.read(await this.#near(path, options.signal), options);
  }

  async *stream(path: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
    yield* this.#storage.stream(await this.#near(path, options.signal), options);
  }

  async stat(path: string, options: { readonly signal?: AbortSignal | undefined }): Promise<StorageStat | undefined> {
    const name = nameOf(path, false);
    for (const directory of [this.#local, ...this.#remotes]) {
      const found = await this.#storage.stat(directory + name, options);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const name = nameOf(prefix, true);
    const sources = [this.#local, ...this.#remotes].map((directory) => renamed(this.#storage.list(directory + name), directory));
    yield* merged(sources);
  }

  async *listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    const name = nameOf(directory, true);
    const sources = [this.#local, ...this.#remotes].map((root) => renamed(this.#storage.listDirectory(root + name), root));
    yield* merged(sources);
  }

  write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, options: WriteOptions): Promise<void> {
    return this.#storage.write(this.#local + nameOf(path, false), data, options);
  }

  /** Removes the near file; one of a far directory is there again when it is asked for. */
  remove(path: string): Promise<boolean> {
    return this.#storage.remove(this.#local + nameOf(path, false));
  }

  readVersioned(path: string, options: { readonly signal?: AbortSignal | undefined }): Promise<VersionedContent | undefined> {
    return this.#storage.readVersioned(this.#local + nameOf(path, false), options);
  }

  writeIf(path: string, data: Uint8Array | string, options: WriteIfOptions): Promise<string> {
    return this.#storage.writeIf(this.#local + nameOf(path, false), data, options);
  }

  /** The near file's path; it is copied there first where it is missing. */
  async #near(path: string, signal: AbortSignal | undefined): Promise<string> {
    const name = nameOf(path, false);
    const near = this.#local + name;
    if ((await this.#storage.stat(near, { signal })) !== undefined) return near;
    let far: string | undefined;
    for (const directory of this.#remotes) {
      if ((await this.#storage.stat(directory + name, { signal })) === undefined) continue;
      far = directory + name;
      break;
    }
    // Reading tells that it is missing, and where it was looked for first.
    if (far === undefined) return near;
    const source = far;
    const lock = `${this.#local}${lockDirectory}${createHash("sha256").update(name).digest("hex").slice(0, 32)}`;
    const { lockTtlMs = 90_000, clock } = this.#options;
    await withLease(
      lock,
      async (lost) => {
        // Whoever had the lock before has made the copy.
        if ((await this.#storage.stat(near, { signal: lost })) === undefined) await this.#storage.copy(source, near, { signal: lost });
      },
      { storage: this.#storage, ttlMs: lockTtlMs, signal, ...(clock === undefined ? {} : { clock }) },
    );
    return near;
  }
}

/** @throws MarinError RIGGING_BAD_PATH */
function nameOf(path: string, isPrefix: boolean): string {
  const [, name] = /^mirror:\/\/(.*)$/s.exec(path) ?? [];
  if (name === undefined || (!isPrefix && name === "") || name.startsWith("/") || name.split("/").some((part) => part === ".." || part === ".") || name.startsWith(lockDirectory)) {
    throw new MarinError("RIGGING_BAD_PATH", `${path} is no path of a mirror: it has the form mirror://name, without "." and "..".`, { data: { path } });
  }
  return name;
}

async function* renamed<T extends { readonly path: string }>(entries: AsyncIterable<T>, directory: string): AsyncGenerator<T> {
  for await (const entry of entries) {
    const name = entry.path.slice(directory.length);
    if (!name.startsWith(lockDirectory)) yield { ...entry, path: `mirror://${name}` };
  }
}

/** Sorted listings as one; of entries with the same path the first source's. */
async function* merged<T extends { readonly path: string }>(sources: readonly AsyncGenerator<T>[]): AsyncGenerator<T> {
  try {
    const heads = await Promise.all(sources.map((source) => source.next()));
    for (;;) {
      const first = heads.reduce<T | undefined>((least, { done, value }) => (done === true || (least !== undefined && byUtf8(least.path, (value as T).path) <= 0) ? least : (value as T)), undefined);
      if (first === undefined) return;
      yield first;
      for (const [index, head] of heads.entries()) {
        if (head.done !== true && head.value.path === first.path) heads[index] = await (sources[index] as AsyncGenerator<T>).next();
      }
    }
  } finally {
    await Promise.all(sources.map((source) => source.return(undefined)));
  }
}
