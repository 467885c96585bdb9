import { createHash } from "node:crypto";
import { z } from "zod";

/** Name of the file that makes a token store complete; written last. */
export const LEDGER_FILE = "ledger.json";
/** Name of the file of all tokens, one after the other, little-endian. */
export const TOKENS_FILE = "tokens.bin";
/** Name of the file of document ends: one uint64 per document, little-endian, the number of tokens up to and including it. */
export const DOCUMENT_ENDS_FILE = "document-ends.bin";
/** Version of the layout that this code writes and reads. */
export const FORMAT_VERSION = 1;

const count = z.int().nonnegative();
const file = z.strictObject({
  bytes: count.describe("size of the file in bytes"),
  sha256: z.string().regex(/^[0-9a-f]{64}$/).describe("SHA-256 of the file's contents, hexadecimal"),
});

/** Contents of `ledger.json`. */
export const tokenLedgerSchema = z.strictObject({
  formatVersion: z.literal(FORMAT_VERSION).describe("version of the layout"),
  dtype: z.enum(["uint16", "uint32"]).describe("element type of tokens.bin: uint16 where the vocabulary has at most 65,536 tokens"),
  vocabSize: z.int().positive().describe("number of tokens in the vocabulary; every token is below it"),
  tokenCount: count.describe("tokens in the store, end-of-text tokens included"),
  documentCount: count.describe("documents in the store"),
  byteCount: count.describe("UTF-8 bytes of the text that the tokens stand for; end-of-text tokens stand for none"),
  metadata: z.record(z.string(), z.unknown()).describe("what the writer recorded, such as the tokenizer's fingerprint"),
  files: z.strictObject({ [TOKENS_FILE]: file, [DOCUMENT_ENDS_FILE]: file }).describe("size and digest of each data file"),
});

/** Contents of a token store's ledger, without its own digest. */
export type TokenLedger = z.infer<typeof tokenLedgerSchema>;

const { dtype, vocabSize, tokenCount, documentCount, byteCount, metadata } = tokenLedgerSchema.shape;

/** Contents of `ledger.json` of a store in parts, each a token store in a directory inside. */
export const shardedLedgerSchema = z.strictObject({
  formatVersion: z.literal(FORMAT_VERSION).describe("version of the layout"),
  dtype,
  vocabSize,
  tokenCount,
  documentCount,
  byteCount,
  metadata,
  parts: z
    .array(
      z.strictObject({
        name: z.string().regex(/^[a-z0-9][a-z0-9-]*$/).describe("directory of the part"),
        tokenCount,
        documentCount,
        byteCount,
        digest: file.shape.sha256.describe("digest of the part's ledger and, through it, of its files"),
      }),
    )
    .describe("the parts, in the order of their documents"),
});

/** Contents of a ledger of a store in parts, without its own digest. */
export type ShardedTokenLedger = z.infer<typeof shardedLedgerSchema>;

/** SHA-256 of a ledger's contents: stored in it as `digest`, and the identity of the whole store. */
export function ledgerDigest(ledger: TokenLedger | ShardedTokenLedger): string {
  return createHash("sha256").update(JSON.stringify(ledger)).digest("hex");
}
