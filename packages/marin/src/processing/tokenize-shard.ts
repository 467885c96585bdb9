import { entry, getIrisCtx } from "@marin/iris";
import { TokenStoreWriter } from "@marin/levanter";
import { sha256File } from "@marin/rigging";
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

/** Writes the documents of a shard as a token store: the tokens of each text, then one end-of-text token. */
export async function tokenizeShard({ path, tokenizerPath, outputDir }: TokenizeTask): Promise<TokenizedDocuments> {
  const tokenizer = await loadTokenizer(tokenizerPath);
  const { vocabSize, endOfTextId } = tokenizer;
  const writer = await TokenStoreWriter.create(outputDir, { vocabSize, metadata: { tokenizerSha256: await sha256File(tokenizerPath), endOfTextId } });
  let [documents, tokens, bytes] = [0, 0, 0];
  try {
    for await (const { text } of readShard(path, getIrisCtx()?.signal)) {
      const ids = tokenizer.encode(text);
      const closed = new Uint32Array(ids.length + 1);
      closed.set(ids);
      closed[ids.length] = endOfTextId;
      const byteLength = Buffer.byteLength(text);
      await writer.append(closed, byteLength);
      documents += 1;
      tokens += closed.length;
      bytes += byteLength;
    }
    await writer.finish();
  } finally {
    await writer.abort();
  }
  return { documents, tokens, bytes };
}

export const tokenizeShardEntry = entry<typeof tokenizeShard>(import.meta.url, "tokenizeShard");
