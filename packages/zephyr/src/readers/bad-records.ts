import { isUtf8 } from "node:buffer";
import type { MarinError, Storage } from "@marin/iris";
import { zephyrContext } from "../context.js";
import type { OnBadRecord } from "./format.js";

/** Most bytes of a record that the side file shows. */
const sampleBytes = 200;

/** What is done with records that cannot be read: the first ends the work, or all are counted and some kept for the side file. */
export class BadRecords {
  readonly #path: string;
  readonly #policy: OnBadRecord;
  readonly #storage: Storage;
  readonly #samples: string[] = [];

  constructor(path: string, policy: OnBadRecord, storage: Storage) {
    this.#path = path;
    this.#policy = policy;
    this.#storage = storage;
  }

  /** Throws the error, or counts it. */
  readonly report = (error: MarinError, sample: Uint8Array | string): void => {
    if (this.#policy === "fail") throw error;
    zephyrContext().count("bad-records");
    if (this.#policy.sideFile === undefined || this.#samples.length >= (this.#policy.sample ?? 100)) return;
    const { line, record, offset, member } = error.data;
    this.#samples.push(JSON.stringify({ path: this.#path, member, line, record, offset, code: error.code, message: error.message, ...beginning(sample) }));
  };

  /** The same records; behind the last one, or when no more are asked for, the side file is written. */
  async *closeAfter<T>(records: AsyncIterable<T>): AsyncGenerator<T> {
    let failed = false;
    try {
      yield* records;
    } catch (error) {
      failed = true;
      throw error;
    } finally {
      if (!failed) await this.#writeSideFile();
    }
  }

  async #writeSideFile(): Promise<void> {
    if (this.#policy === "fail" || this.#policy.sideFile === undefined) return;
    await this.#storage.write(this.#policy.sideFile, this.#samples.map((line) => `${line}\n`).join(""));
  }
}

/** How a record begins, as text where it is text. */
function beginning(sample: Uint8Array | string): { readonly text: string } | { readonly base64: string } {
  if (typeof sample === "string") return { text: sample.slice(0, sampleBytes) };
  const bytes = Buffer.from(sample.buffer, sample.byteOffset, Math.min(sample.byteLength, sampleBytes));
  // A character may be cut in two at the end.
  for (let length = bytes.length; length > bytes.length - 4 && length >= 0; length -= 1) {
    if (isUtf8(bytes.subarray(0, length))) return { text: bytes.toString("utf8", 0, length) };
  }
  return { base64: bytes.toString("base64") };
}
