import { isUtf8 } from "node:buffer";
import { readdir, readFile, stat } from "node:fs/promises";
import { join, relative, sep } from "node:path";
import { MarinError } from "@marin/rigging";
import type { SourceText } from "./document.js";

/** Names of the files that are read as text. */
const textFile = /\.(txt|text|md)$/i;

/** A text must fit one JavaScript string with room to work on it. */
const maxFileBytes = 256 * 2 ** 20;

/** A text file of a user's folder. */
export interface FolderFile {
  /** Path below the folder, with `/` between its parts. */
  readonly name: string;
  /** The path to open. */
  readonly path: string;
}

/** What a folder holds. */
export interface FolderListing {
  /** Text files in the order of their names' code units, so every machine reads them alike. */
  readonly files: readonly FolderFile[];
  /** Files that are not read because of their name. */
  readonly ignored: number;
}

/**
 * Finds the text files (`.txt`, `.text`, `.md`) of a folder and of the folders in it. Names that begin with a dot are passed over.
 *
 * @throws MarinError MARIN_SOURCE_NOT_FOUND, MARIN_SOURCE_NOT_FOLDER, MARIN_SOURCE_NO_TEXT when there is no text file
 */
export async function listTextFiles(folder: string): Promise<FolderListing> {
  const hint = "Give a folder that holds .txt, .text or .md files: --set documents.source=./my-texts";
  const kind = await stat(folder).catch((cause: unknown) => {
    throw new MarinError("MARIN_SOURCE_NOT_FOUND", `The text folder ${folder} cannot be read. ${hint}`, { data: { folder }, cause });
  });
  if (!kind.isDirectory()) throw new MarinError("MARIN_SOURCE_NOT_FOLDER", `${folder} is a file, not a folder. ${hint}`, { data: { folder } });
  const files: FolderFile[] = [];
  let ignored = 0;
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    const path = join(entry.parentPath, entry.name);
    const name = relative(folder, path).split(sep).join("/");
    const isFile = entry.isFile() || (entry.isSymbolicLink() && (await stat(path)).isFile());
    if (!isFile || name.split("/").some((part) => part.startsWith("."))) continue;
    if (textFile.test(name)) files.push({ name, path });
    else ignored += 1;
  }
  if (files.length === 0) {
    const found = ignored === 0 ? "is empty" : `holds ${String(ignored)} files, but none is a .txt, .text or .md file`;
    throw new MarinError("MARIN_SOURCE_NO_TEXT", `The text folder ${folder} ${found}. ${hint}`, { data: { folder, ignored } });
  }
  files.sort((a, b) => (a.name < b.name ? -1 : 1));
  return { files, ignored };
}

/**
 * Reads the text files of a folder, one text each, in the order of {@link listTextFiles}.
 *
 * @throws MarinError MARIN_NOT_UTF8 naming file and byte offset, MARIN_FILE_TOO_LARGE
 */
export async function* readFolderTexts({ files }: FolderListing): AsyncGenerator<SourceText> {
  for (const { name, path } of files) {
    yield { group: "folder", source: name, text: await readUtf8(path) };
  }
}

async function readUtf8(path: string): Promise<string> {
  const { size } = await stat(path);
  if (size > maxFileBytes) {
    throw new MarinError("MARIN_FILE_TOO_LARGE", `${path} has ${String(size)} bytes; a text file may have ${String(maxFileBytes)}. Split it into several files.`, { data: { path, size, maxFileBytes } });
  }
  const bytes = await readFile(path);
  if (isUtf8(bytes)) return bytes.toString("utf8");
  const offset = firstInvalidUtf8(bytes);
  throw new MarinError(
    "MARIN_NOT_UTF8",
    `${path} is not UTF-8 text: byte ${String(offset)} (0x${(bytes[offset] as number).toString(16).padStart(2, "0")}) begins no valid character. Convert the file to UTF-8, or move it out of the folder.`,
    { data: { path, offset } },
  );
}

/** Offset of the first byte that begins no valid UTF-8 character; the bytes are known to hold one. */
function firstInvalidUtf8(bytes: Uint8Array): number {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  let offset = 0;
  // A stream decoder accepts a character that is not complete yet, so the block found is searched from a little before it.
  const block = 4096;
  try {
    for (; offset < bytes.length; offset += block) decoder.decode(bytes.subarray(offset, offset + block), { stream: true });
  } catch {
    // The error tells no position.
  }
  offset = Math.max(0, Math.min(offset, bytes.length) - 3);
  while (offset > 0 && ((bytes[offset] as number) & 0xc0) === 0x80) offset -= 1;
  for (;;) {
    const length = [1, 2, 3, 4].find((count) => offset + count <= bytes.length && isUtf8(bytes.subarray(offset, offset + count)));
    if (length === undefined) return offset;
    offset += length;
  }
}
