import { lstat, readFile } from "node:fs/promises";
import { basename, dirname, join, relative, resolve, sep } from "node:path";
import ignore, { type Ignore } from "ignore";
import { holdsKey, isSecretName } from "./secret-files.js";
import { type Tree, type TreeEntry, readTree } from "./tree.js";

/** Directories of version control and of installed packages: the one is no part of the work, the other is installed where it is needed. */
const never: ReadonlySet<string> = new Set([".git", ".hg", ".svn", ".jj", "node_modules"]);

/** How to read a workspace. */
export interface WorkspaceOptions {
  /** Told of each file and link that is taken; may throw to give up. */
  readonly onEntry?: (entry: TreeEntry) => void;
  /** Ends the reading, with its reason as the error. Default: never. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * The files of a workspace: what git would take up, by the `.gitignore` files in it and above it up to the repository's root and by `.git/info/exclude`.
 * Never `.git`, `node_modules`, or files that hold secrets (.env, private keys, credentials), which are named as skipped.
 *
 * @param directory - the workspace
 * @throws MarinError RIGGING_NOT_FOUND and other file errors; the signal's reason
 */
export async function readWorkspace(directory: string, { onEntry, signal }: WorkspaceOptions = {}): Promise<Tree> {
  const root = resolve(directory);
  const { rules, above } = await rulesAbove(root);
  const inRepository = (path: string): string => [above, path].filter((part) => part !== "").join("/");
  return readTree(root, {
    signal,
    ...(onEntry === undefined ? {} : { onEntry }),
    enter: async (path, names) => {
      if (names.includes(".gitignore")) addRules(rules, inRepository(path), await textOf(join(root, path, ".gitignore")));
    },
    take: async (path, kind) => {
      const name = basename(path);
      if (never.has(name) || rules.ignores(inRepository(path) + (kind === "directory" ? "/" : ""))) return false;
      if (kind === "directory" && (await isController(join(root, path)))) return "a controller's own directory";
      if (isSecretName(name, kind)) return "a name of files that hold secrets";
      return kind === "file" && (await holdsKey(root, path)) ? "a file that holds a key or token" : true;
    },
  });
}

/** Whether a directory is one where a controller keeps its database and its key. */
async function isController(directory: string): Promise<boolean> {
  return (await lstat(join(directory, "iris.db")).catch(() => undefined)) !== undefined;
}

/** The rules that hold for a directory from above it, and its place below its repository's root. */
async function rulesAbove(root: string): Promise<{ readonly rules: Ignore; readonly above: string }> {
  const fresh = (): Ignore => ignore({ ignorecase: false });
  const repository = await repositoryOf(root);
  if (repository === undefined) return { rules: fresh(), above: "" };
  const above = relative(repository, root).split(sep).join("/");
  const rules = fresh().add(await textOf(join(repository, ".git/info/exclude")));
  const steps = above === "" ? [] : above.split("/");
  for (const index of steps.keys()) {
    const directory = steps.slice(0, index).join("/");
    addRules(rules, directory, await textOf(join(repository, directory, ".gitignore")));
  }
  // What is named is read, even where its repository ignores it.
  return above !== "" && rules.ignores(`${above}/`) ? { rules: fresh(), above: "" } : { rules, above };
}

/** The nearest directory above, or the same, that is a git repository's root. */
async function repositoryOf(directory: string): Promise<string | undefined> {
  for (let each = directory; ; each = dirname(each)) {
    if ((await lstat(join(each, ".git")).catch(() => undefined)) !== undefined) return each;
    if (dirname(each) === each) return undefined;
  }
}

/** Adds the rules of a directory's .gitignore as rules of the root: one list has git's precedence, the last match counts. */
function addRules(rules: Ignore, directory: string, text: string): void {
  rules.add(directory === "" ? text : text.split(/\r?\n/).map((line) => belowDirectory(line, directory)).filter((line) => line !== ""));
}

function belowDirectory(line: string, directory: string): string {
  if (line.trim() === "" || line.startsWith("#")) return "";
  const negated = line.startsWith("!");
  const pattern = (negated ? line.slice(1) : line).replace(/^\\(?=[#!])/, "");
  // A slash at the beginning or in the middle ties the pattern to its directory.
  const tied = pattern.trimEnd().replace(/\/$/, "").includes("/");
  const place = directory.replace(/[\\*?[\] !#]/g, "\\$&");
  return `${negated ? "!" : ""}/${place}/${tied ? "" : "**/"}${pattern.replace(/^\//, "")}`;
}

async function textOf(path: string): Promise<string> {
  return readFile(path, "utf8").then(
    (text) => text.replace(/^\uFEFF/, ""),
    () => "",
  );
}
