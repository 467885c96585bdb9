import { fileError, MarinError } from "@marin/iris";
import type { Dirent, Stats } from "node:fs";
import { readdir, realpath, stat } from "node:fs/promises";
import { join } from "node:path";

/** Settings of {@link listFiles}. */
export interface ListFilesOptions {
  /** Endings accepted, with the dot, upper or lower case alike: [".txt", ".md"]. Default: every file. */
  readonly extensions?: readonly string[];
}

/** A file found. */
export interface ListedFile {
  /** The path to open it by. */
  readonly path: string;
  /** Its path inside the directory, with / on every system: the same wherever the directory lies. */
  readonly name: string;
  /** Size in bytes. */
  readonly bytes: number;
}

/**
 * The files in a directory and its subdirectories, sorted by name in code-unit order: the same list on every machine.
 * Names that begin with "." are passed over, as are sockets and pipes; links are followed, and a link that leads back to a
 * directory it lies in is not followed again.
 *
 * @param directory - the directory
 * @returns at least one file
 * @throws MarinError ZEPHYR_NOT_A_DIRECTORY; ZEPHYR_NO_FILES when there is no such file, telling what there is instead;
 * RIGGING_NOT_FOUND (no such directory, a link that leads nowhere) and the other file errors
 */
export async function listFiles(directory: string, options: ListFilesOptions = {}): Promise<ListedFile[]> {
  const found = await look(directory);
  if (!found.isDirectory()) {
    throw new MarinError("ZEPHYR_NOT_A_DIRECTORY", `${directory} is a file, and a directory of files is needed: name the directory around it.`, { data: { directory } });
  }
  const all: ListedFile[] = [];
  await collect(directory, "", [await realpath(directory)], all);
  const endings = options.extensions?.map((extension) => extension.toLowerCase());
  const chosen = endings === undefined ? all : all.filter(({ name }) => endings.some((ending) => name.toLowerCase().endsWith(ending)));
  if (chosen.length === 0) throw noFiles(directory, endings, all);
  return chosen.sort((a, b) => (a.name < b.name ? -1 : 1));
}

async function collect(directory: string, inside: string, around: readonly string[], files: ListedFile[]): Promise<void> {
  const entries: Dirent[] = await readdir(directory, { withFileTypes: true }).catch((error: unknown) => {
    throw fileError(error, { action: "list", path: directory });
  });
  for (const entry of entries) {
    if (entry.name.startsWith(".")) continue;
    const path = join(directory, entry.name);
    const name = inside === "" ? entry.name : `${inside}/${entry.name}`;
    const found = await look(path);
    if (found.isFile()) files.push({ path, name, bytes: found.size });
    if (!found.isDirectory()) continue;
    const real = await realpath(path);
    if (!around.includes(real)) await collect(path, name, [...around, real], files);
  }
}

async function look(path: string): Promise<Stats> {
  return stat(path).catch((error: unknown) => {
    throw fileError(error, { action: "read", path });
  });
}

function noFiles(directory: string, endings: readonly string[] | undefined, all: readonly ListedFile[]): MarinError {
  const wanted = endings === undefined ? "files" : `files ending in ${endings.join(", ")}`;
  const others = [...new Set(all.map(({ name }) => /\.[^./]+$/.exec(name)?.[0] ?? "no ending"))].sort();
  const instead = all.length === 0 ? "it is empty" : `it has ${String(all.length)} others (${others.slice(0, 8).join(", ")})`;
  return new MarinError("ZEPHYR_NO_FILES", `${directory} has no ${wanted}: ${instead}.`, { data: { directory, extensions: endings ?? [], others: all.length } });
}
