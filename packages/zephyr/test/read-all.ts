import { createStorage, type Storage } from "@marin/iris";
import { readRecords, type ReadOptions } from "../src/index.js";

/** A storage in memory that holds one file. */
export async function memoryFile(path: string, content: Uint8Array | string): Promise<Storage> {
  const storage = createStorage();
  await storage.write(path, content);
  return storage;
}

/** All records of a file that has this content. */
export async function readAll(name: string, content: Uint8Array | string, options: Omit<ReadOptions, "storage"> = {}): Promise<unknown[]> {
  const path = `memory://${name}`;
  return gather(readRecords(path, { ...options, storage: await memoryFile(path, content) }));
}

/** All items. */
export async function gather<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}
