import { isMarinError, MarinError } from "@marin/rigging";
import { listFiles } from "@marin/zephyr";
import { fileFormat, type SourceFile, textFileEndings } from "./source-file.js";

/** What a folder holds. */
export interface FolderListing {
  /** Text files in the order of their names' code units, so every machine reads them alike. */
  readonly files: readonly SourceFile[];
  /** Files that are of no format that is read, by their names. */
  readonly ignored: number;
}

/**
 * Finds the files of a folder, and of the folders in it, that are of a format that zephyr reads or was taught. Names that begin with a dot are passed over.
 *
 * @param folder - the folder
 * @param group - the group that the files are counted under
 * @throws MarinError MARIN_SOURCE_UNUSABLE when it is missing, no folder, empty or without text files; its cause tells more
 */
export async function listTextFiles(folder: string, group = "folder"): Promise<FolderListing> {
  const all = await listFiles(folder).catch((cause: unknown) => {
    throw isMarinError(cause) ? unusable(folder, cause.message, cause) : cause;
  });
  const files = all.flatMap(({ name, path, bytes }): SourceFile[] => {
    const format = fileFormat(name);
    return format === undefined ? [] : [{ group, source: name, path, bytes, ...format }];
  });
  if (files.length === 0) throw unusable(folder, `None of the ${String(all.length)} files in ${folder} is of a kind that is read.`);
  return { files, ignored: all.length - files.length };
}

function unusable(folder: string, reason: string, cause?: MarinError): MarinError {
  return new MarinError("MARIN_SOURCE_UNUSABLE", `${reason} Give a folder that holds texts (${textFileEndings()}): --set documents.source=./my-texts`, { data: { folder }, cause });
}
