import type { Storage } from "@marin/iris";

/** What was read through a {@link countingStorage}. */
export interface CountedReads {
  /** Every range that was read, in order. */
  readonly ranges: { readonly path: string; readonly start: number; readonly bytes: number }[];
  /** Bytes read, all together. */
  bytes(): number;
}

/** A storage that counts what is read through it; everything else is the other storage's. */
export function countingStorage(storage: Storage): { readonly storage: Storage; readonly reads: CountedReads } {
  const ranges: { path: string; start: number; bytes: number }[] = [];
  const counted: Pick<Storage, "read" | "stream"> = {
    async read(path, options) {
      const bytes = await storage.read(path, options);
      ranges.push({ path, start: options?.start ?? 0, bytes: bytes.length });
      return bytes;
    },
    async *stream(path, options) {
      let start = options?.start ?? 0;
      for await (const chunk of storage.stream(path, options)) {
        ranges.push({ path, start, bytes: chunk.length });
        start += chunk.length;
        yield chunk;
      }
    },
  };
  return {
    storage: new Proxy(storage, {
      get(target, name) {
        if (name === "read" || name === "stream") return counted[name];
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? (value.bind(target) as unknown) : value;
      },
    }),
    reads: { ranges, bytes: () => ranges.reduce((sum, { bytes }) => sum + bytes, 0) },
  };
}
