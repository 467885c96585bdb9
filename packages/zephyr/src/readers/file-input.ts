import type { Storage } from "@marin/iris";
import { openSource } from "../byte-source.js";
import { compressionOf } from "../compression/suffix.js";
import { readChunks } from "./chunks.js";
import type { FormatInput } from "./format.js";

/** The part of a format's input that gives a file's bytes: all of one version, by ranges where the file is not packed. */
export function fileInput(
  { path, version }: { readonly path: string; readonly version?: string | undefined },
  { storage, signal }: { readonly storage: Storage; readonly signal?: AbortSignal | undefined },
): Pick<FormatInput, "path" | "storage" | "signal" | "version" | "open" | "chunks"> {
  return {
    path,
    storage,
    signal,
    version,
    open: compressionOf(path) === undefined ? () => openSource(path, storage, { version, signal }) : undefined,
    chunks: ({ start } = {}) => readChunks(path, { storage, signal, version, start }),
  };
}
