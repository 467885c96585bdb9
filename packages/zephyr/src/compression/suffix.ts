/** How a file is packed. */
export type Compression = "gzip" | "zstd" | "xz";

const suffixes: ReadonlyMap<string, Compression> = new Map([
  [".gz", "gzip"],
  [".zst", "zstd"],
  [".zstd", "zstd"],
  [".xz", "xz"],
]);

/** Endings of packed files, with the dot. */
export const compressionSuffixes: readonly string[] = [...suffixes.keys()];

/** How a file is packed, by its name's ending, upper or lower case alike; undefined when it is not. */
export function compressionOf(path: string): Compression | undefined {
  const ending = endingOf(path);
  return ending === undefined ? undefined : suffixes.get(ending.toLowerCase());
}

/** The name of what is in a packed file: the path without .gz, .zst or .xz. */
export function withoutCompression(path: string): string {
  return compressionOf(path) === undefined ? path : path.slice(0, -(endingOf(path)?.length ?? 0));
}

function endingOf(path: string): string | undefined {
  return /\.[a-z]+$/i.exec(path)?.[0];
}
