import { entry, getIrisCtx } from "@marin/iris";
import { TokenStoreWriter } from "@marin/levanter";
import { MarinError, sha256File } from "@marin/rigging";
import type { ShardTarget, ShardWriter } from "@marin/zephyr";
import { readShard } from "./documents-file.js";
import { loadTokenizer } from "./tokenizer/tokenizer.js";

/** A shard of documents to tokenize. */
export interface TokenizeTask {
  /** The shard. */
  readonly path: string;
  readonly tokenizerPath: string;
  /** Folder of the part that is written. */
  readonly outputDir: string;
}

/** Counts of a token store. */
export interface TokenizedDocuments {
  readonly documents: number;
  /** Tokens, the end-of-text tokens included. */
  readonly tokens: number;
  /** UTF-8 bytes of the documents' texts. */
  readonly bytes: number;
}

/** What a writer of a token cache has written. */
export interface TokenCacheSummary extends TokenizedDocuments {
  /** Documents, by the name that writers of datasets use. */
  readonly records: number;
}

/**
 * Opens the writer of a part of a token cache: a levanter token store that holds the tokens of each text, then one end-of-text token.
 *
 * @param tokenizerPath - the `tokenizer.json` to use
 * @param target - a folder of the local disk that does not hold a finished store
 * @throws MarinError MARIN_NOT_LOCAL; those of the tokenizer and of the token store
 */
export async function openTokenCache(tokenizerPath: string, { path }: Pick<ShardTarget, "path">): Promise<ShardWriter<{ readonly text: string }, TokenCacheSummary>> {
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(path)) {
    throw new MarinError("MARIN_NOT_LOCAL", `A token cache cannot be written to ${path}: training maps its files into memory, so it lies on the local disk. Write it there, and copy it where it is kept.`, { data: { path } });
  }
  const tokenizer = await loadTokenizer(tokenizerPath);
  const { vocabSize, endOfTextId } = tokenizer;
  const store = await TokenStoreWriter.create(path, { vocabSize, metadata: { tokenizerSha256: await sha256File(tokenizerPath), endOfTextId } });
  let [documents, tokens, bytes] = [0, 0, 0];
  return {
    async write({ text }) {
      const ids = tokenizer.encode(text);
      const closed = new Uint32Array(ids.length + 1);
      closed.set(ids);
      closed[ids.length] = endOfTextId;
      const byteLength = Buffer.byteLength(text);
      await store.append(closed, byteLength);
      documents += 1;
      tokens += closed.length;
      bytes += byteLength;
    },
    async close() {
      await store.finish();
      return { records: documents, documents, tokens, bytes };
    },
    abort: () => store.abort(),
  };
}

/**
 * The writer of a dataset's token cache: `dataset.writeTokenCache("tokens/{shard:05d}", { writer: bind(tokenCacheWriter, tokenizerPath), marker: "ledger.json" })`
 * writes each shard of documents as a token store.
 */
export const tokenCacheWriter = entry<typeof openTokenCache>(import.meta.url, "openTokenCache");

/** Writes the documents of a shard as a token store: the tokens of each text, then one end-of-text token. */
export async function tokenizeShard({ path, tokenizerPath, outputDir }: TokenizeTask): Promise<TokenizedDocuments> {
  const writer = await openTokenCache(tokenizerPath, { path: outputDir });
  try {
    for await (const document of readShard(path, getIrisCtx()?.signal)) await writer.write(document);
    const { documents, tokens, bytes } = await writer.close();
    return { documents, tokens, bytes };
  } finally {
    await writer.abort();
  }
}

export const tokenizeShardEntry = entry<typeof tokenizeShard>(import.meta.url, "tokenizeShard");
