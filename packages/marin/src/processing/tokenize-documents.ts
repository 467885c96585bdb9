import { TokenStoreWriter } from "@marin/levanter";
import { sha256File } from "@marin/rigging";
import { readDocuments } from "./documents-file.js";
import type { ProcessingOptions } from "./progress.js";
import { loadTokenizer } from "./tokenizer/tokenizer.js";

/** Options of {@link tokenizeDocuments}. */
export interface TokenizeOptions extends ProcessingOptions {
  /** JSON Lines file of documents. */
  readonly documents: string;
  /** The `tokenizer.json` to use. */
  readonly tokenizerPath: string;
  /** Folder of the token store that is written; it must not hold one yet. */
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

/**
 * Writes documents as a levanter token store: the tokens of each text, then one end-of-text token. The store's byte count
 * is that of the texts alone, so bits per byte computed with it include what predicting the documents' ends costs.
 *
 * @throws MarinError of the tokenizer, of reading the documents and of the token store
 */
export async function tokenizeDocuments({ documents, tokenizerPath, outputDir, signal, onProgress }: TokenizeOptions): Promise<TokenizedDocuments> {
  const tokenizer = await loadTokenizer(tokenizerPath);
  const { vocabSize, endOfTextId } = tokenizer;
  const writer = await TokenStoreWriter.create(outputDir, { vocabSize, metadata: { tokenizerSha256: await sha256File(tokenizerPath), endOfTextId } });
  let [done, tokens, bytes] = [0, 0, 0];
  for await (const { text } of readDocuments(documents, signal)) {
    const ids = tokenizer.encode(text);
    const closed = new Uint32Array(ids.length + 1);
    closed.set(ids);
    closed[ids.length] = endOfTextId;
    const byteLength = Buffer.byteLength(text);
    await writer.append(closed, byteLength);
    done += 1;
    tokens += closed.length;
    bytes += byteLength;
    onProgress?.({ done, unit: "documents" });
  }
  await writer.finish();
  return { documents: done, tokens, bytes };
}
