import { stat } from "node:fs/promises";
import { join } from "node:path";
import { MarinError, writeFileAtomic } from "@marin/iris";
import { FORMAT_VERSION, LEDGER_FILE, ledgerDigest, type ShardedTokenLedger, type TokenLedger } from "./token-ledger.js";
import { readLedger } from "./token-store.js";

/**
 * Makes one token store of several, which stay where they are: a ledger that names each part with its counts and digest. So several workers can write
 * the parts at the same time.
 *
 * @param directory - the directory that holds the parts' directories, and gets the ledger
 * @param parts - names of the parts' directories, in the order of their documents
 * @returns the ledger's contents
 * @throws MarinError LEVANTER_TOKENS_EXIST when there is a ledger already, LEVANTER_CONFIG when the parts differ in vocabulary or metadata, and what opening a part throws
 */
export async function joinTokenStores(directory: string, parts: readonly string[]): Promise<ShardedTokenLedger> {
  const path = join(directory, LEDGER_FILE);
  if ((await stat(path).catch(() => undefined)) !== undefined) {
    throw new MarinError("LEVANTER_TOKENS_EXIST", `${directory} already holds a finished token store; delete it to write it again`, { data: { directory } });
  }
  const ledgers: { readonly name: string; readonly ledger: TokenLedger }[] = [];
  for (const name of parts) {
    const ledger = await readLedger(join(directory, name));
    if ("parts" in ledger) throw new MarinError("LEVANTER_CONFIG", `${join(directory, name)} is itself in parts; join whole token stores`, { data: { directory, name } });
    ledgers.push({ name, ledger });
  }
  const first = ledgers[0]?.ledger;
  if (first === undefined) throw new MarinError("LEVANTER_CONFIG", `${directory}: a token store has at least one part`, { data: { directory } });
  for (const { name, ledger } of ledgers) {
    if (ledger.vocabSize === first.vocabSize && JSON.stringify(ledger.metadata) === JSON.stringify(first.metadata)) continue;
    throw new MarinError("LEVANTER_CONFIG", `${join(directory, name)} was written with another vocabulary or other metadata than the parts before; tokenize all parts alike`, { data: { directory, name } });
  }
  const sum = (key: "tokenCount" | "documentCount" | "byteCount"): number => ledgers.reduce((total, { ledger }) => total + ledger[key], 0);
  const joined: ShardedTokenLedger = {
    formatVersion: FORMAT_VERSION,
    dtype: first.dtype,
    vocabSize: first.vocabSize,
    tokenCount: sum("tokenCount"),
    documentCount: sum("documentCount"),
    byteCount: sum("byteCount"),
    metadata: first.metadata,
    parts: ledgers.map(({ name, ledger }) => ({
      name,
      tokenCount: ledger.tokenCount,
      documentCount: ledger.documentCount,
      byteCount: ledger.byteCount,
      digest: ledgerDigest(ledger),
    })),
  };
  await writeFileAtomic(path, `${JSON.stringify({ ...joined, digest: ledgerDigest(joined) }, undefined, 2)}\n`);
  return joined;
}
