import { stat } from "node:fs/promises";
import { join } from "node:path";
import { joinTokenStores } from "@marin/levanter";
import { listShards, shardName } from "./documents-file.js";
import { inWorkers } from "./in-workers.js";
import type { ProcessingOptions } from "./progress.js";
import { tokenizeShardEntry, type TokenizedDocuments, type TokenizeTask } from "./tokenize-shard.js";

/** Options of {@link tokenizeDocuments}. */
export interface TokenizeOptions extends ProcessingOptions {
  /** Folder of documents. */
  readonly documents: string;
  /** The `tokenizer.json` to use. */
  readonly tokenizerPath: string;
  /** Folder of the token store that is written; it must not hold one yet. */
  readonly outputDir: string;
  /** Worker processes; the store does not depend on it. 0: as many as the amount of text is worth. Default 0. */
  readonly workers?: number | undefined;
}

/**
 * Writes documents as a levanter token store: the tokens of each text, then one end-of-text token. Each shard of the documents becomes a part, and the store's ledger names
 * the parts with their counts and digests. The byte count is that of the texts alone, so bits per byte computed with it include what predicting the documents' ends costs.
 *
 * @throws MarinError of the tokenizer, of reading the documents and of the token store
 */
export async function tokenizeDocuments({ documents, tokenizerPath, outputDir, workers, signal, onProgress }: TokenizeOptions): Promise<TokenizedDocuments> {
  const paths = await listShards(documents);
  const names = paths.map((_, index) => shardName(index, paths.length, ""));
  const tasks = paths.map((path, index): TokenizeTask => ({ path, tokenizerPath, outputDir: join(outputDir, names[index] ?? "") }));
  let bytes = 0;
  // Packed text: three times as much to work on.
  for (const path of paths) bytes += (await stat(path)).size * 3;
  let done: TokenizedDocuments = { documents: 0, tokens: 0, bytes: 0 };
  for await (const part of inWorkers(tokenizeShardEntry, tasks, { workers, bytes, name: "tokens", signal })) {
    done = { documents: done.documents + part.documents, tokens: done.tokens + part.tokens, bytes: done.bytes + part.bytes };
    onProgress?.({ done: done.documents, unit: "documents" });
  }
  await joinTokenStores(outputDir, names);
  return done;
}
