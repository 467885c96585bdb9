import { fileError } from "@marin/iris";
import { open, stat } from "node:fs/promises";

/** A file that can be read in parts. */
export interface ByteSource {
  /** For messages. */
  readonly path: string;
  /** Size in bytes. */
  readonly bytes: number;
  /** The bytes from `start` up to, not including, `end`; fewer where the file ends before. */
  read(start: number, end: number): Promise<Uint8Array>;
}

/** A file of the local disk. */
export async function openFileSource(path: string): Promise<ByteSource> {
  const refuse = (error: unknown): never => {
    throw fileError(error, { action: "read", path });
  };
  const { size } = await stat(path).catch(refuse);
  return {
    path,
    bytes: size,
    read: async (start, end) => {
      const handle = await open(path).catch(refuse);
      try {
        const bytes = new Uint8Array(end - start);
        let filled = 0;
        while (filled < bytes.length) {
          const { bytesRead } = await handle.read(bytes, filled, bytes.length - filled, start + filled).catch(refuse);
          if (bytesRead === 0) break;
          filled += bytesRead;
        }
        return filled === bytes.length ? bytes : bytes.slice(0, filled);
      } finally {
        await handle.close();
      }
    },
  };
}
