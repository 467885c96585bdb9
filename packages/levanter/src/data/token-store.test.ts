import { createHash } from "node:crypto";
import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { TokenStoreWriter } from "./token-store-writer.js";
import { TokenStore } from "./token-store.js";

let root: string;
let next = 0;
const directory = (): string => join(root, String(next++));

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-tokens-"));
});
afterAll(() => rm(root, { recursive: true }));

async function write(path: string, documents: readonly (readonly number[])[], vocabSize = 300): Promise<void> {
  const writer = await TokenStoreWriter.create(path, { vocabSize, metadata: { tokenizer: "abc" } });
  for (const ids of documents) await writer.append(Uint32Array.from(ids), 10 * ids.length);
  await writer.finish();
}

describe("TokenStore", () => {
  it("reads back what was written, whatever the documents and the vocabulary", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(2, 65536, 65537, 2 ** 32),
        fc.array(fc.array(fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true }), { maxLength: 9 }), { maxLength: 9 }),
        async (vocabSize, drawn) => {
          const documents = drawn.map((ids) => ids.map((x) => Math.floor(x * vocabSize)));
          const path = directory();
          await write(path, documents, vocabSize);
          const store = await TokenStore.open(path);
          expect(store.tokens).toBeInstanceOf(vocabSize <= 65536 ? Uint16Array : Uint32Array);
          expect([...store.tokens]).toEqual(documents.flat());
          expect(store.documentCount).toBe(documents.length);
          const starts = [0, ...store.documentEnds];
          expect(documents.map((_, i) => [...store.tokens.subarray(starts[i], starts[i + 1])])).toEqual(documents);
          expect(store.byteCount).toBe(10 * documents.flat().length);
          expect(store).toMatchObject({ vocabSize, metadata: { tokenizer: "abc" }, tokenCount: documents.flat().length });
        },
      ),
      { numRuns: 30 },
    );
  });

  it("writes little-endian files, with their digests in the ledger", async () => {
    const path = directory();
    await write(path, [[1, 258], [3]]);
    expect([...(await readFile(join(path, "tokens.bin")))]).toEqual([1, 0, 2, 1, 3, 0]);
    expect([...(await readFile(join(path, "document-ends.bin")))]).toEqual([2, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
    const ledger = JSON.parse(await readFile(join(path, "ledger.json"), "utf8")) as { files: Record<string, unknown> };
    expect(ledger.files["tokens.bin"]).toEqual({ bytes: 6, sha256: createHash("sha256").update(Buffer.from([1, 0, 2, 1, 3, 0])).digest("hex") });
    expect((await readdir(path)).sort()).toEqual(["document-ends.bin", "ledger.json", "tokens.bin"]);
  });

  it("handles more tokens than the write buffer holds", async () => {
    const path = directory();
    const ids = Uint32Array.from({ length: 700_000 }, (_, i) => i % 300);
    const writer = await TokenStoreWriter.create(path, { vocabSize: 300 });
    await writer.append(ids.subarray(0, 1), 1);
    await writer.append(ids.subarray(1), 699_999);
    await writer.finish();
    const { tokens } = await TokenStore.open(path);
    expect(Buffer.from(tokens.buffer).equals(Buffer.from(Uint16Array.from(ids).buffer))).toBe(true);
  });

  it("has the same fingerprint for the same contents only", async () => {
    const [a, b, c] = [directory(), directory(), directory()];
    await write(a, [[1, 2]]);
    await write(b, [[1, 2]]);
    await write(c, [[1], [2]]);
    const [storeA, storeB, storeC] = await Promise.all([a, b, c].map((path) => TokenStore.open(path)));
    expect(storeA?.fingerprint).toBe(storeB?.fingerprint);
    expect(storeA?.fingerprint).not.toBe(storeC?.fingerprint);
  });

  it("refuses tokens outside the vocabulary, naming document and position", async () => {
    const writer = await TokenStoreWriter.create(directory(), { vocabSize: 10 });
    await writer.append(Uint32Array.of(1), 1);
    await expect(writer.append(Uint32Array.of(3, 10), 2)).rejects.toMatchObject({
      code: "LEVANTER_TOKEN_RANGE",
      data: { document: 1, position: 1, token: 10, vocabSize: 10 },
    });
    await writer.abort();
  });

  it("refuses documents, and a second end, once the writer has ended", async () => {
    for (const end of ["finish", "abort"] as const) {
      const path = directory();
      const writer = await TokenStoreWriter.create(path, { vocabSize: 5 });
      await writer.append(Uint32Array.of(1), 1);
      await writer[end]();
      for (const late of [() => writer.append(Uint32Array.of(2), 1), () => writer.finish()]) await expect(late()).rejects.toMatchObject({ code: "LEVANTER_RELEASED", data: { directory: path } });
      await writer.abort();
    }
  });

  it("says which part of the path is no directory", async () => {
    const path = directory();
    await writeFile(path, "");
    await expect(TokenStoreWriter.create(join(path, "tokens"), { vocabSize: 2 })).rejects.toMatchObject({
      code: "RIGGING_NOT_FOUND",
      message: expect.stringContaining(`create the directory ${join(path, "tokens")}`) as string,
    });
  });

  it("does not overwrite a finished store, and starts an unfinished one anew", async () => {
    const path = directory();
    const unfinished = await TokenStoreWriter.create(path, { vocabSize: 10 });
    await unfinished.append(Uint32Array.of(1, 2, 3), 3);
    await unfinished.abort();
    await expect(TokenStore.open(path)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_MISSING" });
    await write(path, [[7]]);
    expect([...(await TokenStore.open(path)).tokens]).toEqual([7]);
    await expect(write(path, [[8]])).rejects.toMatchObject({ code: "LEVANTER_TOKENS_EXIST" });
  });

  it.each(["tokens.bin", "document-ends.bin"])("names %s when it is shortened, altered or gone", async (name) => {
    const path = directory();
    await write(path, [[1, 2, 3], [4]]);
    const file = join(path, name);
    const bytes = await readFile(file);
    await truncate(file, bytes.length - 1);
    const expectCorrupt = async (found: RegExp): Promise<void> => {
      const error: unknown = await TokenStore.open(path).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "LEVANTER_TOKENS_CORRUPT", data: { file } });
      expect((error as Error).message).toMatch(found);
      expect((error as Error).message).toMatch(/tokenize again/);
    };
    await expectCorrupt(new RegExp(`should be ${String(bytes.length)} bytes, found ${String(bytes.length - 1)} bytes`));
    bytes[0] = (bytes[0] ?? 0) ^ 1;
    await writeFile(file, bytes);
    await expectCorrupt(/SHA-256 should be [0-9a-f]{64}, found [0-9a-f]{64}/);
    await rm(file);
    await expectCorrupt(/found nothing readable/);
  });

  it("refuses an altered, broken or newer ledger", async () => {
    const path = directory();
    await write(path, [[1, 2, 3]]);
    const file = join(path, "ledger.json");
    const text = await readFile(file, "utf8");
    await writeFile(file, text.replace('"byteCount": 30', '"byteCount": 31'));
    await expect(TokenStore.open(path)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_CORRUPT", data: { file, what: "digest" } });
    await writeFile(file, text.slice(0, 40));
    await expect(TokenStore.open(path)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_CORRUPT", data: { file } });
    await writeFile(file, text.replace('"byteCount": 30', '"byteCount": "many"'));
    await expect(TokenStore.open(path)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_CORRUPT", data: { what: "byteCount" } });
    await writeFile(file, text.replace('"formatVersion": 1', '"formatVersion": 2'));
    await expect(TokenStore.open(path)).rejects.toMatchObject({ code: "LEVANTER_TOKENS_VERSION", data: { expected: 1, found: 2 } });
  });
});
