import { createHash, type Hash } from "node:crypto";
import { mkdir, open, stat, type FileHandle } from "node:fs/promises";
import { join } from "node:path";
import { fileError, MarinError, writeFileAtomic } from "@marin/iris";
import { DOCUMENT_ENDS_FILE, FORMAT_VERSION, LEDGER_FILE, ledgerDigest, TOKENS_FILE, type TokenLedger } from "./token-ledger.js";

const BUFFER_BYTES = 1 << 20;

/** What a token store is created with. */
export interface TokenStoreOptions {
  /** Number of tokens in the vocabulary. At most 65,536 gives two bytes a token, more gives four. */
  readonly vocabSize: number;
  /** JSON values recorded in the ledger, such as the tokenizer's fingerprint. Default: none. */
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/**
 * Writes a token store, document by document: flat token and document-end files, then a ledger with counts and SHA-256 digests. Until `finish`
 * has written the ledger the directory is no token store, so an interrupted writer leaves nothing that could be read by mistake.
 */
export class TokenStoreWriter {
  readonly #directory: string;
  readonly #options: TokenStoreOptions;
  readonly #tokens: HashedFile;
  readonly #ends: HashedFile;
  readonly #bytesPerToken: 2 | 4;
  #tokenCount = 0;
  #documentCount = 0;
  #byteCount = 0;
  #open = true;

  private constructor(directory: string, options: TokenStoreOptions, tokens: HashedFile, ends: HashedFile) {
    this.#directory = directory;
    this.#options = options;
    this.#tokens = tokens;
    this.#ends = ends;
    this.#bytesPerToken = options.vocabSize <= 65536 ? 2 : 4;
  }

  /**
   * Starts a store in `directory`, which is created where needed; remains of an unfinished store are overwritten. Throws `LEVANTER_TOKENS_EXIST`
   * when it already holds a finished one, and the file errors of `writeFileAtomic` (`RIGGING_DISK_FULL`, ...), as `append` and `finish` do.
   */
  static async create(directory: string, options: TokenStoreOptions): Promise<TokenStoreWriter> {
    if (!Number.isInteger(options.vocabSize) || options.vocabSize < 1 || options.vocabSize > 2 ** 32) {
      throw new MarinError("LEVANTER_CONFIG", `vocabSize must be an integer from 1 to 2^32, got ${String(options.vocabSize)}`);
    }
    await mkdir(directory, { recursive: true }).catch((error: unknown) => {
      throw fileError(error, { action: "create the directory", path: directory });
    });
    const ledger = join(directory, LEDGER_FILE);
    if ((await stat(ledger).catch(() => undefined)) !== undefined) {
      throw new MarinError("LEVANTER_TOKENS_EXIST", `${directory} already holds a finished token store; delete it to write it again`, {
        data: { directory },
      });
    }
    const tokens = await HashedFile.create(join(directory, TOKENS_FILE));
    const ends = await HashedFile.create(join(directory, DOCUMENT_ENDS_FILE));
    return new TokenStoreWriter(directory, options, tokens, ends);
  }

  /**
   * Appends one document: its tokens, the closing end-of-text token included, and the number of UTF-8 bytes of text they stand for. Throws
   * `LEVANTER_TOKEN_RANGE` when a token is not below the vocabulary size; nothing of the document is written then. Throws `LEVANTER_RELEASED` after
   * `finish` or `abort`.
   */
  async append(ids: Uint32Array, byteLength: number): Promise<void> {
    this.#requireOpen();
    const { vocabSize } = this.#options;
    const bad = ids.findIndex((id) => id >= vocabSize);
    if (bad >= 0) {
      throw new MarinError(
        "LEVANTER_TOKEN_RANGE",
        `document ${String(this.#documentCount)}: token ${String(ids[bad])} at position ${String(bad)} is not below the vocabulary size ${String(vocabSize)}`,
        { data: { document: this.#documentCount, position: bad, token: ids[bad], vocabSize } },
      );
    }
    if (!Number.isSafeInteger(byteLength) || byteLength < 0) {
      throw new RangeError(`byteLength must be a non-negative integer, got ${String(byteLength)}`);
    }
    const bytes = Buffer.allocUnsafe(ids.length * this.#bytesPerToken);
    if (this.#bytesPerToken === 2) ids.forEach((id, i) => bytes.writeUInt16LE(id, 2 * i));
    else ids.forEach((id, i) => bytes.writeUInt32LE(id, 4 * i));
    await this.#tokens.write(bytes);
    this.#tokenCount += ids.length;
    this.#documentCount += 1;
    this.#byteCount += byteLength;
    const end = Buffer.allocUnsafe(8);
    end.writeBigUInt64LE(BigInt(this.#tokenCount));
    await this.#ends.write(end);
  }

  /** Flushes everything to the disk and writes the ledger. Returns its contents. The writer cannot be used afterwards: throws `LEVANTER_RELEASED`. */
  async finish(): Promise<TokenLedger> {
    this.#requireOpen();
    this.#open = false;
    const ledger: TokenLedger = {
      formatVersion: FORMAT_VERSION,
      dtype: this.#bytesPerToken === 2 ? "uint16" : "uint32",
      vocabSize: this.#options.vocabSize,
      tokenCount: this.#tokenCount,
      documentCount: this.#documentCount,
      byteCount: this.#byteCount,
      // As it will be read back: a digest over values that JSON drops or changes would not match.
      metadata: JSON.parse(JSON.stringify(this.#options.metadata ?? {})) as Record<string, unknown>,
      files: { [TOKENS_FILE]: await this.#tokens.finish(), [DOCUMENT_ENDS_FILE]: await this.#ends.finish() },
    };
    await writeFileAtomic(join(this.#directory, LEDGER_FILE), `${JSON.stringify({ ...ledger, digest: ledgerDigest(ledger) }, undefined, 2)}\n`);
    return ledger;
  }

  /** Closes the files of a store that will not be finished. Harmless after `finish`. */
  async abort(): Promise<void> {
    this.#open = false;
    await this.#tokens.close();
    await this.#ends.close();
  }

  #requireOpen(): void {
    if (this.#open) return;
    throw new MarinError("LEVANTER_RELEASED", `the writer of ${this.#directory} was finished or aborted, and takes no more documents; create another one`, { data: { directory: this.#directory } });
  }
}

/** A file written front to back in large pieces and hashed on the way. */
class HashedFile {
  readonly #path: string;
  readonly #file: FileHandle;
  readonly #hash: Hash = createHash("sha256");
  readonly #buffer = Buffer.allocUnsafe(BUFFER_BYTES);
  #buffered = 0;
  #bytes = 0;
  #closed = false;

  private constructor(path: string, file: FileHandle) {
    this.#path = path;
    this.#file = file;
  }

  static async create(path: string): Promise<HashedFile> {
    const file = await open(path, "w").catch((error: unknown) => {
      throw fileError(error, { action: "write", path });
    });
    return new HashedFile(path, file);
  }

  async write(bytes: Buffer): Promise<void> {
    for (let at = 0; at < bytes.length; ) {
      const piece = bytes.copy(this.#buffer, this.#buffered, at);
      at += piece;
      this.#buffered += piece;
      if (this.#buffered === BUFFER_BYTES) await this.#flush();
    }
  }

  async finish(): Promise<{ bytes: number; sha256: string }> {
    await this.#flush();
    await this.#file.sync().catch((error: unknown) => {
      throw fileError(error, { action: "write", path: this.#path, bytes: this.#bytes });
    });
    await this.close();
    return { bytes: this.#bytes, sha256: this.#hash.digest("hex") };
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#file.close();
  }

  async #flush(): Promise<void> {
    const piece = this.#buffer.subarray(0, this.#buffered);
    await this.#file.writeFile(piece).catch((error: unknown) => {
      throw fileError(error, { action: "write", path: this.#path, bytes: piece.length });
    });
    this.#hash.update(piece);
    this.#bytes += piece.length;
    this.#buffered = 0;
  }
}
