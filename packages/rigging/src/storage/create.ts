import { MarinError } from "@marin/ducky";
import { FileStorage } from "./file.js";
import { GcsStorage, type GcsOptions } from "./gcs.js";
import { HfStorage, type HfOptions } from "./hf.js";
import { HttpStorage, type HttpOptions } from "./http.js";
import { MemoryStorage } from "./memory.js";
import { MirrorStorage, type MirrorOptions } from "./mirror.js";
import { schemeOf } from "./path.js";
import { checkScheme, registeredDriver } from "./registry.js";
import { S3Storage, type S3Options } from "./s3.js";
import { RootedStorage } from "./rooted-storage.js";
import { SchemeStorage } from "./scheme-storage.js";
import type { Storage, StorageDriver } from "./storage.js";

/** Settings of {@link createStorage}. */
export interface CreateStorageOptions {
  /** How to reach Google Cloud Storage. Default: as the environment says. */
  readonly gcs?: GcsOptions;
  /** How to reach S3 or a compatible store. Default: as the environment says. */
  readonly s3?: S3Options;
  /** How to read from web servers. */
  readonly http?: HttpOptions;
  /** How to reach a model hub. Default: as the environment says. */
  readonly hf?: HfOptions;
  /** What mirror:// paths mean. Default: nothing, they are refused. */
  readonly mirror?: MirrorOptions;
  /** Drivers of further schemes, for this storage alone: `{ ftp: driver }` serves ftp://. Default: those of `registerStorage`. */
  readonly drivers?: Readonly<Record<string, StorageDriver>>;
}

/**
 * Files of every kind by their paths: plain paths and file: URLs are the local disk, gs://bucket/name is Google Cloud
 * Storage, s3://bucket/key Amazon's or a compatible store, https://host/name a web server, hf://datasets/owner/name@revision/path a model hub,
 * memory://name memory that belongs to this storage alone, mirror://name a near copy. Clients are loaded on first use.
 *
 * @throws MarinError RIGGING_BAD_SCHEME for a driver of a scheme that cannot be, or is taken
 */
export function createStorage(options: CreateStorageOptions = {}): Storage {
  const file = new FileStorage();
  const drivers = new Map<string, StorageDriver>([["file", file]]);
  for (const [scheme, driver] of Object.entries(options.drivers ?? {})) {
    checkScheme(scheme);
    drivers.set(scheme, driver);
  }
  let opened: HttpStorage | undefined;
  const web = (): HttpStorage => (opened ??= new HttpStorage(options.http));
  const own: Readonly<Record<string, () => StorageDriver>> = {
    gs: () => new GcsStorage(options.gcs),
    s3: () => new S3Storage(options.s3),
    http: () => web(),
    https: () => web(),
    hf: () => new HfStorage(options.hf),
    mirror: () => new MirrorStorage(mirrorOf(options), storage),
    memory: () => new MemoryStorage(),
  };
  const made = new WeakMap<() => StorageDriver, StorageDriver>();
  const driverOf = (scheme: string): StorageDriver | undefined => {
    const given = drivers.get(scheme);
    const open = Object.hasOwn(own, scheme) ? own[scheme] : registeredDriver(scheme);
    if (given !== undefined || open === undefined) return given;
    const driver = made.get(open) ?? open();
    made.set(open, driver);
    return driver;
  };
  const storage: Storage = new SchemeStorage((path, isPrefix) => {
    if ((path === "" && !isPrefix) || path.includes("\0")) throw new MarinError("RIGGING_BAD_PATH", `"${path.replaceAll("\0", "\\0")}" is no path.`, { data: { path } });
    // It would come to every store as the same U+FFFD, and name another file than the one that was meant.
    if (/\p{Surrogate}/u.test(path)) throw new MarinError("RIGGING_BAD_PATH", `${JSON.stringify(path)} is no path: half a surrogate pair stands in it, which no store can hold.`, { data: { path } });
    const scheme = schemeOf(path);
    if (scheme === undefined) return file;
    const driver = driverOf(scheme);
    if (driver !== undefined) return driver;
    throw new MarinError("RIGGING_UNKNOWN_SCHEME", `${path}: paths of ${scheme}: are not supported; use a file's path, gs://bucket/name, s3://bucket/key, https://host/name, hf://datasets/owner/name@revision/path or memory://name, or teach this process the scheme with registerStorage.`, { data: { path, scheme } });
  });
  return storage;
}

/** @throws MarinError RIGGING_BAD_PATH where no mirror is set up */
function mirrorOf({ mirror }: CreateStorageOptions): MirrorOptions {
  if (mirror !== undefined) return mirror;
  throw new MarinError("RIGGING_BAD_PATH", "This storage has no mirror: give createStorage the option mirror, { local, remotes }.", { data: {} });
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
