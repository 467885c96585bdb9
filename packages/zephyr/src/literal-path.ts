/**
 * A path as a pattern that names it alone, for the sources of datasets and for the names that their writes give: a backslash stands before each character that has a meaning there.
 *
 * @param path - a path whose names may hold brackets, braces, stars, question marks and backslashes
 */
export function literalPath(path: string): string {
  return path.replace(/[\\*?[\]{}]/g, "\\$&");
}
