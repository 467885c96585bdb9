import { createHash } from "node:crypto";
import { open, readFile } from "node:fs/promises";
import { endianness } from "node:os";
import { join } from "node:path";
import { MarinError } from "@marin/iris";
import {
  DOCUMENT_ENDS_FILE,
  FORMAT_VERSION,
  LEDGER_FILE,
  ledgerDigest,
  shardedLedgerSchema,
  TOKENS_FILE,
  tokenLedgerSchema,
  type ShardedTokenLedger,
  type TokenLedger,
} from "./token-ledger.js";

const READ_BYTES = 4 << 20;
const REMEDY = "Delete the directory and tokenize again.";

/** Tokenized documents in memory, read from a directory that `TokenStoreWriter` or `joinTokenStores` wrote and verified against its ledger. */
export class TokenStore {
  /** The directory it was read from. */
  readonly directory: string;
  /** Every document's tokens, one after the other, each document closed by an end-of-text token. */
  readonly tokens: Uint16Array | Uint32Array;
  /** For each document the number of tokens up to and including it. */
  readonly documentEnds: Float64Array;
  /** Tokens in the store, end-of-text tokens included. */
  readonly tokenCount: number;
  /** Documents in the store. */
  readonly documentCount: number;
  /** UTF-8 bytes of the text that the tokens stand for. */
  readonly byteCount: number;
  /** Number of tokens in the vocabulary. */
  readonly vocabSize: number;
  /** What the writer recorded, such as the tokenizer's fingerprint. */
  readonly metadata: Readonly<Record<string, unknown>>;
  /** SHA-256 of the ledger and, through it, of every file. */
  readonly fingerprint: string;

  private constructor(directory: string, ledger: TokenLedger | ShardedTokenLedger, tokens: Uint16Array | Uint32Array, documentEnds: Float64Array) {
    this.directory = directory;
    this.tokens = tokens;
    this.documentEnds = documentEnds;
    this.tokenCount = ledger.tokenCount;
    this.documentCount = ledger.documentCount;
    this.byteCount = ledger.byteCount;
    this.vocabSize = ledger.vocabSize;
    this.metadata = ledger.metadata;
    this.fingerprint = ledgerDigest(ledger);
  }

  /**
   * Reads a token store and checks size and SHA-256 of every file. Throws `LEVANTER_TOKENS_MISSING` when there is no finished store,
   * `LEVANTER_TOKENS_VERSION` when another version of this software wrote it, `LEVANTER_TOKENS_CORRUPT` when a file is missing, shortened or altered.
   */
  static async open(directory: string): Promise<TokenStore> {
    if (endianness() !== "LE") {
      throw new MarinError("LEVANTER_PLATFORM", "token stores are little-endian; this machine is big-endian, which is not supported");
    }
    const ledger = await readLedger(directory);
    const { tokens, documentEnds } = "parts" in ledger ? await readParts(directory, ledger) : await readFiles(directory, ledger);
    requireCounts(directory, ledger, tokens.length, documentEnds.length);
    return new TokenStore(directory, ledger, tokens, documentEnds);
  }
}

interface Contents {
  readonly tokens: Uint16Array | Uint32Array;
  readonly documentEnds: Float64Array;
}

async function readFiles(directory: string, ledger: TokenLedger): Promise<Contents> {
  const tokenBytes = await readVerified(directory, TOKENS_FILE, ledger);
  const endBytes = await readVerified(directory, DOCUMENT_ENDS_FILE, ledger);
  const tokens = ledger.dtype === "uint16" ? new Uint16Array(tokenBytes) : new Uint32Array(tokenBytes);
  return { tokens, documentEnds: Float64Array.from(new BigUint64Array(endBytes), Number) };
}

async function readParts(directory: string, ledger: ShardedTokenLedger): Promise<Contents> {
  const tokens = ledger.dtype === "uint16" ? new Uint16Array(ledger.tokenCount) : new Uint32Array(ledger.tokenCount);
  const documentEnds = new Float64Array(ledger.documentCount);
  let [tokensBefore, documentsBefore] = [0, 0];
  for (const { name, digest, tokenCount, documentCount } of ledger.parts) {
    const inside = join(directory, name);
    const part = await readLedger(inside);
    const found = ledgerDigest(part);
    if ("parts" in part || found !== digest) throw corrupt(join(inside, LEDGER_FILE), "digest", digest, { found });
    const contents = await readFiles(inside, part);
    requireCounts(inside, { tokenCount, documentCount }, contents.tokens.length, contents.documentEnds.length);
    if (tokensBefore + tokenCount > tokens.length || documentsBefore + documentCount > documentEnds.length) break;
    tokens.set(contents.tokens, tokensBefore);
    documentEnds.set(contents.documentEnds.map((end) => end + tokensBefore), documentsBefore);
    tokensBefore += tokenCount;
    documentsBefore += documentCount;
  }
  requireCounts(directory, ledger, tokensBefore, documentsBefore);
  return { tokens, documentEnds };
}

function requireCounts(directory: string, ledger: { readonly tokenCount: number; readonly documentCount: number }, tokens: number, documents: number): void {
  if (tokens === ledger.tokenCount && documents === ledger.documentCount) return;
  throw corrupt(join(directory, LEDGER_FILE), "counts", `${String(tokens)} tokens and ${String(documents)} documents`, {
    found: `${String(ledger.tokenCount)} and ${String(ledger.documentCount)}`,
  });
}

/** The ledger of a store, whole or in parts. Throws what {@link TokenStore.open} says. */
export async function readLedger(directory: string): Promise<TokenLedger | ShardedTokenLedger> {
  const path = join(directory, LEDGER_FILE);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (cause) {
    throw new MarinError(
      "LEVANTER_TOKENS_MISSING",
      `${directory} is no finished token store: ${LEDGER_FILE} cannot be read. Tokenize into this directory first.`,
      { data: { directory, file: path }, cause },
    );
  }
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    throw corrupt(path, "contents", "a JSON object", { found: `${String(text.length)} characters that are not JSON`, cause });
  }
  const version = typeof value === "object" && value !== null && "formatVersion" in value ? value.formatVersion : undefined;
  if (typeof version === "number" && version !== FORMAT_VERSION) {
    throw new MarinError(
      "LEVANTER_TOKENS_VERSION",
      `${path} has format version ${String(version)}, this software reads version ${String(FORMAT_VERSION)}. Use the version that wrote it, or tokenize again into another directory.`,
      { data: { file: path, expected: FORMAT_VERSION, found: version } },
    );
  }
  const { digest, ...rest } = (typeof value === "object" && value !== null ? value : {}) as Record<string, unknown>;
  const parsed = "parts" in rest ? shardedLedgerSchema.safeParse(rest) : tokenLedgerSchema.safeParse(rest);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw corrupt(path, issue?.path.join(".") || "contents", "a valid ledger", { found: issue?.message ?? "another shape" });
  }
  // Parsing orders the keys as the schema does, so hand-made reordering does not change the digest; changed values do.
  const found = ledgerDigest(parsed.data);
  if (digest !== found) throw corrupt(path, "digest", String(digest), { found });
  return parsed.data;
}

async function readVerified(directory: string, name: typeof TOKENS_FILE | typeof DOCUMENT_ENDS_FILE, ledger: TokenLedger): Promise<ArrayBuffer> {
  const path = join(directory, name);
  const expected = ledger.files[name];
  const file = await open(path, "r").catch((cause: unknown) => {
    throw corrupt(path, "file", `${String(expected.bytes)} bytes`, { found: "nothing readable", cause });
  });
  try {
    const { size } = await file.stat();
    if (size !== expected.bytes) throw corrupt(path, "size", `${String(expected.bytes)} bytes`, { found: `${String(size)} bytes` });
    const contents = new Uint8Array(size);
    const hash = createHash("sha256");
    for (let at = 0; at < size; ) {
      const { bytesRead } = await file.read(contents, at, Math.min(READ_BYTES, size - at), at);
      if (bytesRead === 0) throw corrupt(path, "size", `${String(size)} bytes`, { found: `${String(at)} bytes` });
      hash.update(contents.subarray(at, at + bytesRead));
      at += bytesRead;
    }
    const found = hash.digest("hex");
    if (found !== expected.sha256) throw corrupt(path, "SHA-256", expected.sha256, { found });
    return contents.buffer;
  } finally {
    await file.close();
  }
}

function corrupt(file: string, what: string, expected: string, rest: { found: string; cause?: unknown }): MarinError {
  return new MarinError("LEVANTER_TOKENS_CORRUPT", `${file}: ${what} should be ${expected}, found ${rest.found}. ${REMEDY}`, {
    data: { file, what, expected, found: rest.found },
    ...("cause" in rest ? { cause: rest.cause } : {}),
  });
}
