/**
 * Why a name of an archive's entry must not be made under a directory; undefined for one that stays inside it. Names are relative, joined
 * by "/", without "." and "..", and mean the same on every system.
 *
 * @param name - as the archive has it
 */
export function unsafePath(name: string): string | undefined {
  if (name === "") return "an empty name";
  if (name.includes("\0")) return "a name with a zero byte";
  if (name.includes("\\")) return "a name with a backslash";
  if (name.startsWith("/")) return "an absolute name";
  if (/^[a-z]:/i.test(name)) return "a name with a drive letter";
  const parts = name.split("/");
  if (parts.some((part) => part === "" || part === "." || part === "..")) return 'a name with "." or ".." or an empty part';
  if (parts.some((part) => Buffer.byteLength(part) > 255)) return "a name longer than 255 bytes";
  return undefined;
}

/** What lies at a path of an archive; undefined for nothing. */
export type KindOf = (path: string) => "directory" | "file" | "link" | undefined;

/**
 * Why a link must not be made; undefined for one that leads to something of the same archive, without passing through another link on
 * its way: what such a link leads to cannot be read off its text.
 *
 * @param name - the link's place in the archive
 * @param target - what it names
 * @param kindOf - what else is in the archive
 */
export function unsafeLink(name: string, target: string, kindOf: KindOf): string | undefined {
  if (target === "" || target.includes("\0") || target.includes("\\")) return "a link with a malformed target";
  if (target.startsWith("/") || /^[a-z]:/i.test(target)) return "a link to an absolute path";
  const place = name.split("/").slice(0, -1);
  const steps = target.split("/").filter((step) => step !== "" && step !== ".");
  for (const [index, step] of steps.entries()) {
    if (step !== "..") place.push(step);
    else if (place.pop() === undefined) return "a link out of the directory";
    const kind = place.length === 0 ? "directory" : kindOf(place.join("/"));
    if (kind === undefined || (kind !== "directory" && index < steps.length - 1)) return "a link to something that is left out";
  }
  return undefined;
}

/** The directories that the paths lie in. */
export function directoriesOf(paths: Iterable<string>): Set<string> {
  const directories = new Set<string>();
  for (const path of paths) {
    for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) {
      const directory = path.slice(0, end);
      if (directories.has(directory)) break;
      directories.add(directory);
    }
  }
  return directories;
}
