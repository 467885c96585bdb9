import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, expect, it } from "vitest";
import { joinTokenStores } from "./join-token-stores.js";
import { TokenStore } from "./token-store.js";
import { TokenStoreWriter } from "./token-store-writer.js";

let root: string;
let next = 0;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-join-"));
});
afterAll(() => rm(root, { recursive: true }));

type Documents = readonly (readonly number[])[];

async function write(path: string, documents: Documents, metadata = { tokenizer: "abc" }): Promise<void> {
  const writer = await TokenStoreWriter.create(path, { vocabSize: 300, metadata });
  for (const ids of documents) await writer.append(Uint32Array.from(ids), 10 * ids.length);
  await writer.finish();
}

async function joined(parts: readonly Documents[]): Promise<string> {
  const directory = join(root, String(next++));
  for (const [index, documents] of parts.entries()) await write(join(directory, `part-${String(index)}`), documents);
  await joinTokenStores(directory, parts.map((_, index) => `part-${String(index)}`));
  return directory;
}

it("reads as the store that holds the documents of all parts", async () => {
  const documents = fc.array(fc.array(fc.nat(299), { maxLength: 5 }), { maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(fc.array(documents, { minLength: 1, maxLength: 4 }), async (parts) => {
      const whole = join(root, String(next++));
      await write(whole, parts.flat());
      const [store, expected] = [await TokenStore.open(await joined(parts)), await TokenStore.open(whole)];
      expect(store.tokens).toEqual(expected.tokens);
      expect(store.documentEnds).toEqual(expected.documentEnds);
      for (const key of ["tokenCount", "documentCount", "byteCount", "vocabSize", "metadata"] as const) expect(store[key]).toEqual(expected[key]);
    }),
    { numRuns: 20 },
  );
});

it("names the part that was altered, shortened, taken away or put in another's place", async () => {
  const parts = [[[1, 2], [3]], [[4, 5, 6]], [[7, 8], [9]]];
  for (const damage of [
    (part: string) => writeFile(join(part, "tokens.bin"), Buffer.alloc(6)),
    (part: string) => rm(join(part, "document-ends.bin")),
    async (part: string) => {
      await rm(part, { recursive: true });
      await cp(join(part, "..", "part-2"), part, { recursive: true });
    },
  ]) {
    const directory = await joined(parts);
    await damage(join(directory, "part-1"));
    await expect(TokenStore.open(directory)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_CORRUPT", message: expect.stringContaining(join(directory, "part-1")) as string });
  }
  const directory = await joined(parts);
  await rm(join(directory, "part-0"), { recursive: true });
  await expect(TokenStore.open(directory)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_MISSING" });
});

it("refuses a ledger whose numbers were changed, parts that do not fit, none, and a second time", async () => {
  const directory = await joined([[[1]], [[2]]]);
  await expect(joinTokenStores(directory, ["part-0"])).rejects.toMatchObject({ code: "LEVANTER_TOKENS_EXIST" });
  const ledger = join(directory, "ledger.json");
  await writeFile(ledger, (await readFile(ledger, "utf8")).replace('"documentCount": 2', '"documentCount": 1'));
  await expect(TokenStore.open(directory)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_CORRUPT", data: { file: ledger, what: "digest" } });

  const other = join(root, String(next++));
  await write(join(other, "a"), [[1]]);
  await write(join(other, "b"), [[1]], { tokenizer: "other" });
  await expect(joinTokenStores(other, ["a", "b"])).rejects.toMatchObject({ code: "LEVANTER_CONFIG", data: { name: "b" } });
  await expect(joinTokenStores(other, [])).rejects.toMatchObject({ code: "LEVANTER_CONFIG" });
});
