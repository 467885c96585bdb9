import { MarinError } from "@marin/ducky";
import { globbed } from "./glob.js";
import { byUtf8, gather, rangeOf } from "./range.js";
import type { DirectoryEntry, ReadOptions, Storage, StorageDriver, StorageEntry, StorageStat, VersionedContent, WalkedDirectory, WriteIfOptions, WriteOptions } from "./storage.js";
import { chargeTransfer, isTransferLimited } from "./transfer-budget.js";

/** Options of calls that only abort. */
interface Abortable {
  readonly signal?: AbortSignal | undefined;
}

/** Every driver under one interface: the path's scheme says which, and what the driver lacks is made of what it has. */
export class SchemeStorage implements Storage {
  readonly #driverOf: (path: string, isPrefix: boolean) => StorageDriver;

  /** @param driverOf - the driver of a path; it throws for what is no path of any */
  constructor(driverOf: (path: string, isPrefix: boolean) => StorageDriver) {
    this.#driverOf = driverOf;
  }

  async read(path: string, options: ReadOptions = {}): Promise<Uint8Array> {
    const driver = this.#driverOf(path, false);
    rangeOf(path, options);
    options.signal?.throwIfAborted();
    await charge(driver, path, options);
    return driver.read === undefined ? gather(driver.stream(path, options)) : driver.read(path, options);
  }

  async *stream(path: string, options: ReadOptions = {}): AsyncGenerator<Uint8Array> {
    const driver = this.#driverOf(path, false);
    rangeOf(path, options);
    options.signal?.throwIfAborted();
    await charge(driver, path, options);
    yield* driver.stream(path, options);
  }

  async stat(path: string, options: Abortable = {}): Promise<StorageStat | undefined> {
    return this.#driverOf(path, false).stat(path, options);
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    yield* this.#driverOf(prefix, true).list(prefix);
  }

  async *listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    const driver = this.#driverOf(directory, true);
    const prefix = asDirectory(directory);
    yield* driver.listDirectory === undefined ? folded(driver.list(prefix), prefix) : driver.listDirectory(prefix);
  }

  walk(directory: string): AsyncGenerator<WalkedDirectory> {
    return walked(this, asDirectory(directory));
  }

  glob(pattern: string): AsyncGenerator<StorageEntry> {
    return globbed(this, pattern);
  }

  async write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, options: WriteOptions = {}): Promise<void> {
    const driver = this.#driverOf(path, false);
    if (driver.write === undefined) throw unsupported(path, "write to", "it is read-only");
    options.signal?.throwIfAborted();
    return driver.write(path, data, options);
  }

  async remove(path: string): Promise<boolean> {
    const driver = this.#driverOf(path, false);
    if (driver.remove === undefined) throw unsupported(path, "remove", "its store is read-only");
    return driver.remove(path);
  }

  async readVersioned(path: string, options: Abortable = {}): Promise<VersionedContent | undefined> {
    const driver = this.#driverOf(path, false);
    if (driver.readVersioned === undefined) throw noConditions(path);
    options.signal?.throwIfAborted();
    return driver.readVersioned(path, options);
  }

  async writeIf(path: string, data: Uint8Array | string, options: WriteIfOptions): Promise<string> {
    const driver = this.#driverOf(path, false);
    if (driver.writeIf === undefined) throw noConditions(path);
    options.signal?.throwIfAborted();
    return driver.writeIf(path, data, options);
  }

  async copy(from: string, to: string, options: WriteOptions = {}): Promise<void> {
    const [source, target] = [this.#driverOf(from, false), this.#driverOf(to, false)];
    options.signal?.throwIfAborted();
    if (source === target && source.copy !== undefined) {
      // Two buckets may lie far apart, though no byte comes here.
      if (authorityOf(from) !== authorityOf(to)) await charge(source, from, { signal: options.signal });
      return source.copy(from, to, options);
    }
    // Asked first, so that nothing is written where nothing can be read.
    const found = await this.stat(from, options);
    if (found === undefined) throw new MarinError("RIGGING_NOT_FOUND", `Cannot copy ${from}: there is no such object.`, { data: { path: from } });
    return this.write(to, this.stream(from, { version: found.version, signal: options.signal }), options);
  }

  async rename(from: string, to: string, options: WriteOptions = {}): Promise<void> {
    const [source, target] = [this.#driverOf(from, false), this.#driverOf(to, false)];
    if (source !== target || source.rename === undefined) {
      throw unsupported(from, "rename", `${source === target ? "its store has no such step" : `${to} lies in another store`}; copy it, then remove it`);
    }
    options.signal?.throwIfAborted();
    return source.rename(from, to, options);
  }
}

/** The path of a directory, with "/" at its end. */
export function asDirectory(path: string): string {
  return path === "" || path.endsWith("/") || (process.platform === "win32" && path.endsWith("\\")) ? path : `${path}/`;
}

/** A directory and those below it, made of listings of one directory each. */
export async function* walked(storage: Pick<Storage, "listDirectory">, directory: string): AsyncGenerator<WalkedDirectory> {
  const directories: string[] = [];
  const files: StorageEntry[] = [];
  for await (const entry of storage.listDirectory(directory)) {
    if (entry.kind === "directory") directories.push(entry.path);
    else files.push({ path: entry.path, bytes: entry.bytes });
  }
  if (directories.length + files.length === 0) return;
  yield { path: directory, directories, files };
  for (const inner of directories) yield* walked(storage, inner);
}

/** A listing of all that is below a directory, as what is directly in it. */
export async function* folded(entries: AsyncIterable<StorageEntry>, directory: string): AsyncGenerator<DirectoryEntry> {
  let last: string | undefined;
  for await (const { path, bytes } of entries) {
    const slash = path.indexOf("/", directory.length);
    if (slash === -1) {
      yield { kind: "file", path, bytes };
      continue;
    }
    // What lies in one directory stands together in the order of bytes.
    const inner = path.slice(0, slash + 1);
    if (inner !== last) yield { kind: "directory", path: inner };
    last = inner;
  }
}

/** Objects and directories that arrive apart, in the order of their paths. */
export function sortedEntries(entries: DirectoryEntry[]): DirectoryEntry[] {
  return entries.sort((a, b) => byUtf8(a.path, b.path));
}

function authorityOf(path: string): string | undefined {
  return /^[^:]+:\/\/([^/]*)/.exec(path)?.[1];
}

async function charge(driver: StorageDriver, path: string, options: ReadOptions): Promise<void> {
  if (driver.remote === false || !isTransferLimited()) return;
  const { start, end } = rangeOf(path, options);
  const found = await driver.stat(path, { signal: options.signal });
  // What is not there is told by reading it.
  if (found !== undefined) chargeTransfer(path, Math.max(0, Math.min(end, found.bytes) - start));
}

function unsupported(path: string, action: string, reason: string): MarinError {
  return new MarinError("RIGGING_UNSUPPORTED", `Cannot ${action} ${path}: ${reason}.`, { data: { path, action } });
}

function noConditions(path: string): MarinError {
  return new MarinError("RIGGING_UNSUPPORTED", `${path} cannot be written on a condition: its store has no such operation. Use a path of a disk, gs://, s3:// or memory://.`, { data: { path, action: "write on a condition" } });
}
