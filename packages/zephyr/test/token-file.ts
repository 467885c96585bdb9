import type { ShardTarget, ShardWriter } from "../src/index.js";

/** Writes the tokens of records `{ tokens }` to one flat file of 16-bit numbers in a directory, and then, as the sign that all is there, `ledger.json`. */
export function tokenFile({ path, storage }: ShardTarget): ShardWriter<{ readonly tokens: readonly number[] }> {
  const parts: Buffer[] = [];
  let records = 0;
  return {
    write({ tokens }) {
      records += 1;
      parts.push(Buffer.from(Uint16Array.from(tokens).buffer));
      return Promise.resolve();
    },
    async close() {
      const bytes = Buffer.concat(parts);
      await storage.write(`${path}/tokens.bin`, bytes);
      await storage.write(`${path}/ledger.json`, JSON.stringify({ records }));
      return { records, bytes: bytes.length };
    },
    abort: () => Promise.resolve(),
  };
}

/** Makes no writer. */
export function noWriter(): number {
  return 5;
}
