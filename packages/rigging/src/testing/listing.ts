/** What part of a bucket to list. */
export interface ListingPage {
  /** Names begin with it. */
  readonly prefix: string;
  /** Names are cut behind its first occurrence after the prefix; "" for none. */
  readonly delimiter: string;
  /** The last name of the page before; "" for the first page. */
  readonly after: string;
  /** Names in a page. */
  readonly limit: number;
}

/** One page of a bucket's listing, as Google's and Amazon's servers give it: in the order of UTF-8 bytes, and the name to go on after. */
export function pageOf(names: readonly string[], { prefix, delimiter, after, limit }: ListingPage): { readonly names: string[]; readonly next?: string } {
  const folded = names
    .filter((name) => name.startsWith(prefix))
    .map((name) => {
      const cut = delimiter === "" ? -1 : name.indexOf(delimiter, prefix.length);
      return cut === -1 ? name : name.slice(0, cut + delimiter.length);
    });
  const found = [...new Set(folded)].filter((name) => Buffer.compare(Buffer.from(name), Buffer.from(after)) > 0).sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
  const page = found.slice(0, limit);
  const last = page.at(-1);
  return found.length > page.length && last !== undefined ? { names: page, next: last } : { names: page };
}
