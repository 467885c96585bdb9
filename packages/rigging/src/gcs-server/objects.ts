import { createHash } from "node:crypto";
import { pageOf } from "../testing/listing.js";

/** An object of the server. */
export interface ServedObject {
  /** Its name in the bucket. */
  readonly name: string;
  /** Its bytes. */
  readonly content: Buffer;
  /** Counts the writes to the server. */
  readonly generation: number;
  /** What the client said of it: contentType, its own notes. */
  readonly given: Readonly<Record<string, unknown>>;
}

/** A refusal, in the protocol's terms. */
export class Refusal extends Error {
  /** The HTTP status. */
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Objects in a page of a listing. Google's has 1,000; a server may give fewer than were asked for. */
const maxPage = 100;

/** The buckets of a server. */
export class Buckets {
  readonly #buckets: ReadonlyMap<string, Map<string, ServedObject>>;
  #generation = 0;

  constructor(names: readonly string[]) {
    this.#buckets = new Map(names.map((name) => [name, new Map<string, ServedObject>()]));
  }

  /** @throws Refusal 404 */
  bucket(name: string): Map<string, ServedObject> {
    const found = this.#buckets.get(name);
    if (found === undefined) throw new Refusal(404, `The specified bucket does not exist: ${name}.`);
    return found;
  }

  /** @throws Refusal 404, 412 */
  find(bucket: string, name: string, query: URLSearchParams): ServedObject {
    const found = this.bucket(bucket).get(name);
    checkConditions(found, query);
    const generation = query.get("generation");
    if (found === undefined || (generation !== null && Number(generation) !== found.generation)) throw new Refusal(404, `No such object: ${bucket}/${name}`);
    return found;
  }

  /** @throws Refusal 404 (no bucket), 412 */
  put(bucket: string, object: Pick<ServedObject, "name" | "content" | "given">, query: URLSearchParams): ServedObject {
    const objects = this.bucket(bucket);
    checkConditions(objects.get(object.name), query);
    const kept = { ...object, generation: ++this.#generation };
    objects.set(object.name, kept);
    return kept;
  }

  /** @throws Refusal 404, 412 */
  delete(bucket: string, name: string, query: URLSearchParams): void {
    this.find(bucket, name, query);
    this.bucket(bucket).delete(name);
  }

  /** Copies an object, in one bucket or between two. @throws Refusal 404, 412 */
  copy(from: { readonly bucket: string; readonly name: string }, to: { readonly bucket: string; readonly name: string }, given: Readonly<Record<string, unknown>>, query: URLSearchParams): ServedObject {
    const source = this.bucket(from.bucket).get(from.name);
    if (source === undefined) throw new Refusal(404, `No such object: ${from.bucket}/${from.name}`);
    return this.put(to.bucket, { name: to.name, content: source.content, given: { ...source.given, ...given } }, query);
  }

  /** One page of a listing: objects and, with a delimiter, what names have in common up to it. @throws Refusal 404 */
  list(bucket: string, query: URLSearchParams): { readonly items: ServedObject[]; readonly prefixes: string[]; readonly next?: string } {
    const [prefix, delimiter] = [query.get("prefix") ?? "", query.get("delimiter") ?? ""];
    const objects = [...this.bucket(bucket).values()].filter(({ name }) => name.startsWith(prefix));
    const limit = Math.min(Number(query.get("maxResults") ?? maxPage), maxPage);
    const after = Buffer.from(query.get("pageToken") ?? "", "base64url").toString("utf8");
    const { names, next } = pageOf(objects.map(({ name }) => name), { prefix, delimiter, after, limit });
    const isPrefix = (name: string): boolean => delimiter !== "" && name.slice(prefix.length).endsWith(delimiter);
    const items = names.filter((name) => !isPrefix(name)).map((name) => this.bucket(bucket).get(name) as ServedObject);
    return { items, prefixes: names.filter(isPrefix), ...(next === undefined ? {} : { next: Buffer.from(next).toString("base64url") }) };
  }
}

/** ifGenerationMatch and ifGenerationNotMatch; a missing object has generation 0. @throws Refusal 412 */
function checkConditions(found: ServedObject | undefined, query: URLSearchParams): void {
  const generation = found?.generation ?? 0;
  const match = query.get("ifGenerationMatch");
  const other = query.get("ifGenerationNotMatch");
  if ((match !== null && Number(match) !== generation) || (other !== null && Number(other) === generation)) {
    throw new Refusal(412, "At least one of the pre-conditions you specified did not hold.");
  }
}

/** An object's description, as the protocol gives it. */
export async function describe(bucket: string, { name, content, generation, given }: ServedObject): Promise<Record<string, unknown>> {
  return { kind: "storage#object", ...given, id: `${bucket}/${name}/${String(generation)}`, name, bucket, generation: String(generation), metageneration: "1", size: String(content.length), ...(await digests(content)) };
}

/** The digests that the client checks, base64; the CRC's bytes the highest first. */
export async function digests(content: Buffer): Promise<{ readonly md5Hash: string; readonly crc32c: string }> {
  const { CRC32C } = await import("@google-cloud/storage");
  const crc = new CRC32C();
  crc.update(content);
  return { md5Hash: createHash("md5").update(content).digest("base64"), crc32c: crc.toString() };
}
