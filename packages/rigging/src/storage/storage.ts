/** What is known of an object without reading it. */
export interface StorageStat {
  /** Size in bytes. */
  readonly bytes: number;
  /** Changes whenever the content changes. Compare it only with versions of the same path. */
  readonly version: string;
  /** A digest of the content where the store keeps one: "sha256:" or "git-sha1:" and hexadecimal digits. */
  readonly digest?: string;
}

/** An object of a listing. */
export interface StorageEntry {
  /** The path to read it by. */
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
}

/** What lies directly in a directory: an object, or a directory, whose path ends in "/". */
export type DirectoryEntry = ({ readonly kind: "file" } & StorageEntry) | { readonly kind: "directory"; readonly path: string };

/** A directory that {@link Storage.walk} has come to. */
export interface WalkedDirectory {
  /** Its path, with "/" at its end. */
  readonly path: string;
  /** Paths of the directories in it, sorted, each with "/" at its end. */
  readonly directories: readonly string[];
  /** The objects in it, sorted. */
  readonly files: readonly StorageEntry[];
}

/** Which bytes to read. */
export interface ReadOptions {
  /** The first byte. Default 0. */
  readonly start?: number;
  /** The byte to stop before. Default: the end. */
  readonly end?: number;
  /** Read this version, of `stat`, and no other: RIGGING_CHANGED when the object has changed since. Default: whatever is there. */
  readonly version?: string | undefined;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** How to write. */
export interface WriteOptions {
  /** Write only where nothing is; of several that try at once exactly one succeeds. Default false: what is there is replaced. */
  readonly ifAbsent?: boolean;
  /** Aborts the writing; nothing appears then. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/** Content, and which it is. */
export interface VersionedContent {
  /** The bytes. */
  readonly content: Uint8Array;
  /** Their version, for {@link Storage.writeIf}. */
  readonly version: string;
}

/** The condition of a write. */
export interface WriteIfOptions {
  /** The version that must be there still, of `readVersioned` or `writeIf`. Undefined: nothing must be there. */
  readonly version: string | undefined;
  /** Aborts the writing; whether it took place is then not known. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * What a store must do to be used as {@link Storage}, and what it may do. What it lacks is made of what it has, except
 * conditional writes and renames: these are refused, because a copy of them would be right most of the time only.
 */
export interface StorageDriver {
  /** Whether reading from it crosses a network, and so counts against a transfer budget. Default true. */
  readonly remote?: boolean;
  /** As {@link Storage.stream}. It must check `version` when it is given. */
  stream(path: string, options: ReadOptions): AsyncIterable<Uint8Array>;
  /** As {@link Storage.stat}. */
  stat(path: string, options: { readonly signal?: AbortSignal | undefined }): Promise<StorageStat | undefined>;
  /** As {@link Storage.list}: sorted by UTF-8 bytes. */
  list(prefix: string): AsyncIterable<StorageEntry>;
  /** As {@link Storage.write}. Without it the store is read-only. */
  write?(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, options: WriteOptions): Promise<void>;
  /** As {@link Storage.remove}. */
  remove?(path: string): Promise<boolean>;
  /** As {@link Storage.read}. Default: all that `stream` gives. */
  read?(path: string, options: ReadOptions): Promise<Uint8Array>;
  /** As {@link Storage.listDirectory}. Default: made of `list`. */
  listDirectory?(directory: string): AsyncIterable<DirectoryEntry>;
  /** As {@link Storage.readVersioned}; goes with `writeIf`. */
  readVersioned?(path: string, options: { readonly signal?: AbortSignal | undefined }): Promise<VersionedContent | undefined>;
  /** As {@link Storage.writeIf}; goes with `readVersioned`. */
  writeIf?(path: string, data: Uint8Array | string, options: WriteIfOptions): Promise<string>;
  /** As {@link Storage.copy}, inside this store. Default: read and written. */
  copy?(from: string, to: string, options: WriteOptions): Promise<void>;
  /** As {@link Storage.rename}, inside this store. */
  rename?(from: string, to: string, options: WriteOptions): Promise<void>;
}

/**
 * Files, wherever they lie: the local disk, a bucket, a web server, a model hub, this process's memory. A path names one of
 * them whole: "data/a.jsonl", "gs://bucket/data/a.jsonl", "s3://bucket/a", "https://host/a", "hf://datasets/owner/name@main/a", "memory://a".
 *
 * All methods throw MarinError: RIGGING_BAD_PATH, RIGGING_UNKNOWN_SCHEME; RIGGING_NOT_FOUND, RIGGING_ACCESS_DENIED,
 * RIGGING_DISK_FULL and the other file errors; of other machines also RIGGING_NO_CREDENTIALS, RIGGING_STORAGE_UNAVAILABLE
 * and RIGGING_STORAGE_FAILED; RIGGING_UNSUPPORTED for what a store cannot do; RIGGING_TRANSFER_BUDGET before a read that a
 * budget does not allow. No message holds a credential.
 */
export interface Storage {
  /**
   * The bytes of an object, or of the part that was asked for: fewer where the object ends before `end`.
   *
   * @throws MarinError RIGGING_BAD_RANGE when start or end is no whole number of at least 0, or end lies before start;
   * RIGGING_CHANGED when `version` is no longer there, or the object changes while it is read
   */
  read(path: string, options?: ReadOptions): Promise<Uint8Array>;
  /** The same bytes in chunks, as they come. Bytes lost on the way end in an error, never in a shorter object. */
  stream(path: string, options?: ReadOptions): AsyncIterable<Uint8Array>;
  /** What is known of the object; undefined when there is none. */
  stat(path: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<StorageStat | undefined>;
  /**
   * The objects whose paths begin with `prefix`, sorted by their paths' UTF-8 bytes. "gs://bucket/data/" lists what is in
   * a directory and below. Temporary files of running writers are passed over; nothing is listed where nothing is.
   */
  list(prefix: string): AsyncIterable<StorageEntry>;
  /** What lies directly in a directory, objects and directories sorted together by their paths' UTF-8 bytes; nothing where nothing is. */
  listDirectory(directory: string): AsyncIterable<DirectoryEntry>;
  /** A directory and all below it, the outer ones first. Empty directories of a disk are left out. */
  walk(directory: string): AsyncIterable<WalkedDirectory>;
  /**
   * The objects that a pattern names, sorted and each once: `*` and `?` within a name, `**` across directories, `[a-z]`, and `{train,test}` or
   * `{00..15}`. Wildcards pass over names that begin with a dot. A backslash takes a character as it is.
   */
  glob(pattern: string): AsyncIterable<StorageEntry>;
  /**
   * Writes an object. At every moment readers find what was there before, or all of the new content. Directories around
   * it are made.
   *
   * @param data - bytes, text (written as UTF-8) or a stream of bytes
   * @throws MarinError RIGGING_EXISTS with `ifAbsent`, when something is there; whatever the stream throws, unchanged
   */
  write(path: string, data: Uint8Array | string | AsyncIterable<Uint8Array>, options?: WriteOptions): Promise<void>;
  /**
   * Removes an object.
   *
   * @returns whether there was one
   */
  remove(path: string): Promise<boolean>;
  /**
   * The content and its version, read as one; undefined when there is none. For small objects that several processes change.
   *
   * @throws MarinError RIGGING_UNSUPPORTED where the store cannot write on a condition
   */
  readVersioned(path: string, options?: { readonly signal?: AbortSignal | undefined }): Promise<VersionedContent | undefined>;
  /**
   * Writes if nobody has written since (compare and swap): of several that start from the same version exactly one succeeds. On a disk
   * this holds among conditional writes; a plain `write` in the same moment may be lost.
   *
   * @returns the new version
   * @throws MarinError RIGGING_CHANGED when another version, or none, is there. `data.mayHaveBeenWritten` is true when an answer was lost
   * before, so that this write may have taken place and have been replaced since; RIGGING_STORAGE_UNAVAILABLE, with the same field, when
   * no answer came at all; RIGGING_UNSUPPORTED where the store cannot do it
   */
  writeIf(path: string, data: Uint8Array | string, options: WriteIfOptions): Promise<string>;
  /** Copies an object, inside the store where it can, else through this process. The copy appears whole. @throws MarinError as `read` and `write` */
  copy(from: string, to: string, options?: WriteOptions): Promise<void>;
  /**
   * Gives an object another path in one step, inside one store.
   *
   * @throws MarinError RIGGING_UNSUPPORTED between stores, and where the store has no such step (S3): copy, then remove; RIGGING_EXISTS with `ifAbsent`
   */
  rename(from: string, to: string, options?: WriteOptions): Promise<void>;
}
