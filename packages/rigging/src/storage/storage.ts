/** What is known of an object without reading it. */
export interface StorageStat {
  /** Size in bytes. */
  readonly bytes: number;
  /** Changes whenever the content is written again. Compare it only with versions of the same path. */
  readonly version: string;
}

/** An object of a listing. */
export interface StorageEntry {
  /** The path to read it by. */
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
}

/** Which bytes to read. */
export interface ReadOptions {
  /** The first byte. Default 0. */
  readonly start?: number;
  /** The byte to stop before. Default: the end. */
  readonly end?: number;
  /** Aborts the reading. Default: never. */
  readonly signal?: AbortSignal;
}

/** How to write. */
export interface WriteOptions {
  /** Write only where nothing is; of several that try at once exactly one succeeds. Default false: what is there is replaced. */
  readonly ifAbsent?: boolean;
  /** Aborts the writing; nothing appears then. Default: never. */
  readonly signal?: AbortSignal;
}

/**
 * Files, wherever they lie: the local disk, a bucket, this process's memory. A path names one of them whole:
 * "data/a.jsonl", "gs://bucket/data/a.jsonl", "memory://a".
 *
 * All methods throw MarinError: RIGGING_BAD_PATH, RIGGING_UNKNOWN_SCHEME; RIGGING_NOT_FOUND, RIGGING_ACCESS_DENIED,
 * RIGGING_DISK_FULL and the other file errors; of buckets also RIGGING_NO_CREDENTIALS, RIGGING_STORAGE_UNAVAILABLE and
 * RIGGING_STORAGE_FAILED. No message holds a credential.
 */
export interface Storage {
  /**
   * The bytes of an object, or of the part that was asked for: fewer where the object ends before `end`.
   *
   * @throws MarinError RIGGING_BAD_RANGE when start or end is no whole number of at least 0, or end lies before start
   */
  read(path: string, options?: ReadOptions): Promise<Uint8Array>;
  /** The same bytes in chunks, as they come. Bytes lost on the way end in an error, never in a shorter object. */
  stream(path: string, options?: ReadOptions): AsyncIterable<Uint8Array>;
  /** What is known of the object; undefined when there is none. */
  stat(path: string): Promise<StorageStat | undefined>;
  /**
   * The objects whose paths begin with `prefix`, sorted by their paths' UTF-8 bytes. "gs://bucket/data/" lists what is in
   * a directory and below. Temporary files of running writers are passed over; nothing is listed where nothing is.
   */
  list(prefix: string): AsyncIterable<StorageEntry>;
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
}
