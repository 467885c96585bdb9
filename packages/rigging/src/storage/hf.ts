import { createHash, type Hash } from "node:crypto";
import { isMarinError, MarinError } from "@marin/ducky";
import { SecretStore } from "../secrets.js";
import { ask } from "./ask.js";
import { notThatVersion } from "./changed.js";
import { openRange, request } from "./http-request.js";
import { byUtf8, isWhole, rangeOf, untilAborted } from "./range.js";
import { remoteError, statusOf, type StoreAdvice } from "./remote-error.js";
import { resumed } from "./resume.js";
import type { DirectoryEntry, ReadOptions, StorageDriver, StorageEntry, StorageStat } from "./storage.js";

/** How to reach a model hub. */
export interface HfOptions {
  /** The hub, "https://hub.example.org". Default: HF_ENDPOINT, else https://huggingface.co. */
  readonly endpoint?: string;
  /** Where the token is, as {@link SecretStore.get} takes it. Default: the secret "hf_token" or the variable HF_TOKEN; without either what everybody may read is read. */
  readonly token?: string | readonly string[];
  /** Where secrets are looked up. Default: a new SecretStore. */
  readonly secrets?: SecretStore;
  /** How often a request is tried again after a failure that may pass. Default 3. */
  readonly maxRetries?: number;
  /** How long to wait for the next bytes before the rest is asked for anew, in milliseconds. Default 60,000. */
  readonly stallMs?: number;
}

/** A path taken apart. */
interface HfPath {
  readonly kind: "models" | "datasets" | "spaces";
  readonly repository: string;
  readonly revision: string;
  /** Inside the repository; "" for its root. */
  readonly name: string;
  /** What stands before the name, as it was written. */
  readonly root: string;
}

/** A file of a repository, as the hub describes it. */
interface HfFile {
  readonly type: string;
  readonly path: string;
  readonly size: number;
  /** The blob's name in git: SHA-1 over its size and content. */
  readonly oid: string;
  /** Of large files: the SHA-256 of the content. */
  readonly lfs?: { readonly oid: string; readonly size: number };
}

const advice: StoreAdvice = {
  credentials: "there is no such repository, or it needs a token: set HF_TOKEN, or MARIN_SECRET_HF_TOKEN_FILE to a file that holds it",
  permission: "ask its owner for access on the hub's page, and use a token that may read it",
};

/**
 * Files of a model hub, hf://datasets/owner/name@revision/path and hf://models/owner/name@revision/path, to read only. A branch or tag is
 * looked up once, so that one storage reads one commit to its end. Files read whole are checked against their size and digest.
 */
export class HfStorage implements StorageDriver {
  readonly #options: HfOptions;
  readonly #commits = new Map<string, Promise<string>>();
  #authorization: Promise<Readonly<Record<string, string>>> | undefined;

  /** @param options - how to reach the hub */
  constructor(options: HfOptions = {}) {
    this.#options = options;
  }

  async *stream(path: string, options: ReadOptions): AsyncGenerator<Uint8Array> {
    const range = rangeOf(path, options);
    const { signal } = options;
    const place = parsePath(path, false);
    const file = await this.#describe(path, place, signal);
    if (file === undefined) throw new MarinError("RIGGING_NOT_FOUND", `Cannot read ${path}: revision ${place.revision} of ${place.repository} has no such file.`, { data: { path } });
    const { version, bytes, digest = "" } = statOf(file);
    if (options.version !== undefined && options.version !== version) throw notThatVersion(path, { expected: options.version, found: version });
    if (range.start >= Math.min(range.end, bytes)) return;
    const commit = await this.#commit(path, place, signal);
    const prefix = place.kind === "models" ? "" : `${place.kind}/`;
    const url = `${this.#endpoint}/${prefix}${place.repository}/resolve/${commit}/${encoded(place.name)}`;
    const headers = await this.#headers();
    const chunks = resumed({
      path,
      range: { start: range.start, end: range.end === Infinity ? Infinity : Math.min(range.end, bytes) },
      version,
      signal,
      maxRetries: this.#maxRetries,
      stallMs: this.#stallMs,
      open: async (wanted, _known, stop) => {
        const opened = await openRange({ url, path, headers, maxRetries: this.#maxRetries, stallMs: this.#stallMs, signal: stop }, wanted);
        if (opened?.size !== undefined && opened.size !== bytes) throw corrupt(path, `the hub sends ${String(opened.size)} bytes, and describes ${String(bytes)}`);
        // A commit's files do not change; what stores name them differs from place to place.
        return opened === undefined ? undefined : { ...opened, version };
      },
    });
    try {
      yield* untilAborted(isWhole(range) ? checked(chunks, { path, bytes, digest }) : chunks, signal);
    } catch (error) {
      throw remoteError(error, { action: "read", path }, advice);
    }
  }

  async stat(path: string, { signal }: { readonly signal?: AbortSignal | undefined }): Promise<StorageStat | undefined> {
    const file = await this.#describe(path, parsePath(path, false), signal);
    return file === undefined ? undefined : statOf(file);
  }

  async *list(prefix: string): AsyncGenerator<StorageEntry> {
    const place = parsePath(prefix, true);
    const found: StorageEntry[] = [];
    for await (const file of this.#tree(prefix, place, place.name.slice(0, Math.max(0, place.name.lastIndexOf("/"))), true)) {
      if (file.type === "file" && file.path.startsWith(place.name)) found.push({ path: `${place.root}/${file.path}`, bytes: statOf(file).bytes });
    }
    yield* found.sort((a, b) => byUtf8(a.path, b.path));
  }

  async *listDirectory(directory: string): AsyncGenerator<DirectoryEntry> {
    const place = parsePath(directory, true);
    const found: DirectoryEntry[] = [];
    for await (const file of this.#tree(directory, place, place.name.replace(/\/$/, ""), false)) {
      const path = `${place.root}/${file.path}`;
      found.push(file.type === "directory" ? { kind: "directory", path: `${path}/` } : { kind: "file", path, bytes: statOf(file).bytes });
    }
    yield* found.sort((a, b) => byUtf8(a.path, b.path));
  }

  get #endpoint(): string {
    return (this.#options.endpoint ?? process.env["HF_ENDPOINT"] ?? "https://huggingface.co").replace(/\/$/, "");
  }

  get #stallMs(): number {
    return this.#options.stallMs ?? 60_000;
  }

  get #maxRetries(): number {
    return this.#options.maxRetries ?? 3;
  }

  #headers(): Promise<Readonly<Record<string, string>>> {
    return (this.#authorization ??= this.#readToken().then((token) => (token === undefined ? {} : { authorization: `Bearer ${token}` })));
  }

  async #readToken(): Promise<string | undefined> {
    const { token, secrets = new SecretStore() } = this.#options;
    if (token !== undefined) return (await secrets.get(token)).reveal();
    for (const source of ["hf_token", "env:HF_TOKEN"]) {
      try {
        return (await secrets.get(source)).reveal();
      } catch (error) {
        if (!isMarinError(error, "RIGGING_SECRET_MISSING")) throw error;
      }
    }
    return undefined;
  }

  /** Where the hub describes a repository. */
  #api({ kind, repository }: HfPath): string {
    return `${this.#endpoint}/api/${kind}/${repository}`;
  }

  /** What the hub answers, and where the next page of it is. */
  async #ask(path: string, url: string, signal: AbortSignal | undefined, body?: string): Promise<{ readonly answer: unknown; readonly next: string | undefined }> {
    const headers = { ...(await this.#headers()), ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const stallMs = this.#stallMs;
    const asked = async (stop: AbortSignal): Promise<{ readonly answer: unknown; readonly next: string | undefined }> => {
      const response = await request({ url, path, headers, maxRetries: 0, stallMs, signal: stop, ...(body === undefined ? {} : { method: "POST", body }) });
      return { answer: await response.json(), next: /<([^>]+)>\s*;\s*rel="next"/.exec(response.headers.get("link") ?? "")?.[1] };
    };
    return ask(asked, { attempts: this.#maxRetries + 1, timeoutMs: 2 * stallMs, signal });
  }

  #commit(path: string, place: HfPath, signal: AbortSignal | undefined): Promise<string> {
    if (/^[0-9a-f]{40}$/.test(place.revision)) return Promise.resolve(place.revision);
    const key = `${place.kind}/${place.repository}@${place.revision}`;
    const known = this.#commits.get(key);
    if (known !== undefined) return known;
    const asking = this.#ask(path, `${this.#api(place)}/revision/${encodeURIComponent(place.revision)}`, signal)
      .then(({ answer }) => {
        const { sha } = (answer ?? {}) as { readonly sha?: unknown };
        if (typeof sha === "string" && /^[0-9a-f]{40}$/.test(sha)) return sha;
        throw new MarinError("RIGGING_STORAGE_FAILED", `Cannot read ${path}: the hub names no commit for revision ${place.revision}.`, { data: { path } });
      })
      .catch((error: unknown) => {
        // Asked again the next time.
        this.#commits.delete(key);
        throw remoteError(error, { action: "read", path }, advice);
      });
    this.#commits.set(key, asking);
    return asking;
  }

  async #describe(path: string, place: HfPath, signal: AbortSignal | undefined): Promise<HfFile | undefined> {
    try {
      const commit = await this.#commit(path, place, signal);
      const { answer } = await this.#ask(path, `${this.#api(place)}/paths-info/${commit}`, signal, JSON.stringify({ paths: [place.name], expand: false }));
      return (answer as readonly HfFile[]).find((file) => file.type === "file" && file.path === place.name);
    } catch (error) {
      throw remoteError(error, { action: "read", path }, advice);
    }
  }

  async *#tree(path: string, place: HfPath, directory: string, isDeep: boolean): AsyncGenerator<HfFile> {
    try {
      const commit = await this.#commit(path, place, undefined);
      let url: string | undefined = `${this.#api(place)}/tree/${commit}${directory === "" ? "" : `/${encoded(directory)}`}?recursive=${String(isDeep)}&expand=false`;
      while (url !== undefined) {
        const { answer, next }: { readonly answer: unknown; readonly next: string | undefined } = await this.#ask(path, url, undefined);
        yield* answer as readonly HfFile[];
        if (next !== undefined && !next.startsWith(`${this.#endpoint}/`)) throw new MarinError("RIGGING_STORAGE_FAILED", `Cannot list ${path}: the hub sends elsewhere for its next page.`, { data: { path } });
        url = next;
      }
    } catch (error) {
      // No such directory.
      if (statusOf(error) === 404) return;
      throw remoteError(error, { action: "list", path }, advice);
    }
  }
}

function parsePath(path: string, isPrefix: boolean): HfPath {
  const [, root, kind = "models", repository, revision = "main", name = ""] = /^(hf:\/\/(?:(models|datasets|spaces)\/)?([\w.-]+\/[\w.-]+)(?:@([^/]+))?)(?:\/(.*))?$/s.exec(path) ?? [];
  if (root !== undefined && repository !== undefined && (isPrefix || name !== "")) {
    return { kind: kind as HfPath["kind"], repository, revision: decodeURIComponent(revision), name, root };
  }
  throw new MarinError("RIGGING_BAD_PATH", `${path} is no path of a hub: it has the form hf://datasets/owner/name@revision/path, or models instead of datasets; a "/" in a revision is written %2F.`, { data: { path } });
}

function statOf({ oid, size, lfs }: HfFile): StorageStat {
  return { bytes: lfs?.size ?? size, version: lfs?.oid ?? oid, digest: lfs === undefined ? `git-sha1:${oid}` : `sha256:${lfs.oid}` };
}

function encoded(name: string): string {
  return name.split("/").map(encodeURIComponent).join("/");
}

/** The same chunks; at their end size and digest are compared. */
async function* checked(chunks: AsyncIterable<Uint8Array>, { path, bytes, digest }: { readonly path: string; readonly bytes: number; readonly digest: string }): AsyncGenerator<Uint8Array> {
  const hash: Hash = digest.startsWith("sha256:") ? createHash("sha256") : createHash("sha1").update(`blob ${String(bytes)}\0`);
  let received = 0;
  for await (const chunk of chunks) {
    hash.update(chunk);
    received += chunk.length;
    yield chunk;
  }
  if (received !== bytes) throw corrupt(path, `${String(received)} bytes have arrived, and the hub describes ${String(bytes)}`);
  if (!digest.endsWith(`:${hash.digest("hex")}`)) throw corrupt(path, "what has arrived has another digest than the hub describes");
}

function corrupt(path: string, why: string): MarinError {
  return new MarinError("RIGGING_CORRUPT", `Cannot read ${path}: ${why}; try again.`, { data: { path } });
}
