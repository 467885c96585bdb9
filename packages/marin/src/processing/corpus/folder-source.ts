import { isMarinError, MarinError } from "@marin/rigging";
import { listFiles, type ListedFile, readTextFile } from "@marin/zephyr";
import type { SourceText } from "./document.js";

/** Names of the files that are read as text. */
const textFile = /\.(txt|text|md)$/i;

/** Half of what a JavaScript string can hold. */
const maxFileBytes = 2 ** 28;

/** What a folder holds. */
export interface FolderListing {
  /** Text files in the order of their names' code units, so every machine reads them alike. */
  readonly files: readonly ListedFile[];
  /** Files that are not read because of their name. */
  readonly ignored: number;
}

/**
 * Finds the text files (`.txt`, `.text`, `.md`) of a folder and of the folders in it. Names that begin with a dot are passed over.
 *
 * @throws MarinError MARIN_SOURCE_UNUSABLE when it is missing, no folder, empty or without text files; its cause tells more
 */
export async function listTextFiles(folder: string): Promise<FolderListing> {
  const all = await listFiles(folder).catch((cause: unknown) => {
    throw isMarinError(cause) ? unusable(folder, cause.message, cause) : cause;
  });
  const files = all.filter(({ name }) => textFile.test(name));
  if (files.length === 0) throw unusable(folder, `None of the ${String(all.length)} files in ${folder} is a text file.`);
  return { files, ignored: all.length - files.length };
}

function unusable(folder: string, reason: string, cause?: MarinError): MarinError {
  return new MarinError("MARIN_SOURCE_UNUSABLE", `${reason} Give a folder that holds .txt, .text or .md files: --set documents.source=./my-texts`, { data: { folder }, cause });
}

/**
 * Reads the text files of a folder, one text each, in the order of {@link listTextFiles}.
 *
 * @throws MarinError ZEPHYR_NOT_UTF8 naming file and byte offset, MARIN_FILE_TOO_LARGE, and the file errors
 */
export async function* readFolderTexts({ files }: FolderListing): AsyncGenerator<SourceText> {
  for (const { name, path, bytes } of files) {
    if (bytes > maxFileBytes) {
      throw new MarinError("MARIN_FILE_TOO_LARGE", `${path} has ${String(bytes)} bytes; a text file may have ${String(maxFileBytes)}. Split it into several files.`, { data: { path, bytes, maxFileBytes } });
    }
    yield { group: "folder", source: name, text: await readTextFile(path) };
  }
}
