import { MarinError } from "@marin/ducky";

const scopePattern = /^(\*|[a-z][a-z0-9-]*(:[a-z][a-z0-9-]*)*(:\*)?)$/;

/**
 * What a route asks of its caller: nothing ("public"), or one scope. A scope is what may be done to what: "jobs:read".
 */
export type Access = "public" | { readonly scope: string };

/**
 * Whether one of the scopes that were granted covers the one that is needed: itself, "jobs:*" for all that begins with "jobs:", "*" for all.
 */
export function scopeCovers(granted: readonly string[], needed: string): boolean {
  return granted.some((scope) => scope === needed || scope === "*" || (scope.endsWith(":*") && needed.startsWith(scope.slice(0, -1))));
}

/**
 * Checks the form of scopes that are about to be granted.
 *
 * @returns the same, without doubles, sorted
 * @throws MarinError RIGGING_BAD_SCOPE
 */
export function checkScopes(scopes: readonly string[]): readonly string[] {
  for (const scope of scopes) {
    if (!scopePattern.test(scope)) {
      throw new MarinError("RIGGING_BAD_SCOPE", `"${scope}" is not a scope; write for example "jobs:read", "jobs:*" or "*".`, { data: { scope } });
    }
  }
  return [...new Set(scopes)].sort();
}
