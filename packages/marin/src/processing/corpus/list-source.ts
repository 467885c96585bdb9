import { basename, dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { listBuiltinFiles } from "./builtin-sources.js";
import { type FolderListing, listTextFiles } from "./folder-source.js";
import type { SourceFile } from "./source-file.js";

/** The source that means the texts that an experiment brings with it. */
export const builtinSource = "builtin";

/** Where texts come from. */
export interface TextSource {
  /** `"builtin"`, or a folder of texts. */
  readonly source: string;
  /** For the built-in texts: path or URL of a module whose package depends on the npm packages that carry them (`import.meta.url` there). */
  readonly resolveFrom: string | URL;
  /** A folder of texts, relative to the module, that belongs to the built-in ones. Its files are groups of their own. Default: none. */
  readonly builtinFolder?: string | undefined;
}

/**
 * The files of a source.
 *
 * @throws MarinError of `listBuiltinFiles` and `listTextFiles`
 */
export async function listSource(text: TextSource): Promise<FolderListing> {
  if (text.source !== builtinSource) return listTextFiles(text.source);
  return { files: [...(await listBuiltinFiles(text.resolveFrom)), ...(await listBuiltinFolder(text))], ignored: 0 };
}

/** The files of the folder that belongs to the built-in texts. */
export async function listBuiltinFolder({ resolveFrom, builtinFolder }: TextSource): Promise<SourceFile[]> {
  if (builtinFolder === undefined) return [];
  const module = String(resolveFrom).startsWith("file:") ? fileURLToPath(resolveFrom) : String(resolveFrom);
  const { files } = await listTextFiles(resolve(dirname(module), builtinFolder));
  // A folder's README tells about the texts.
  const texts = files.filter(({ path }) => basename(path) !== "README.md");
  return texts.map((file) => ({ ...file, group: groupOf(file.source), source: `${groupOf(file.source)}/${basename(file.source)}` }));
}

/** "psalms.jsonl.gz" is the group "psalms". */
function groupOf(name: string): string {
  return basename(name).replace(/\..*$/, "");
}
