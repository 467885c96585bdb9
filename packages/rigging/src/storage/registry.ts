import { MarinError } from "@marin/ducky";
import type { StorageDriver } from "./storage.js";

/** Schemes that rigging itself serves. */
export const ownSchemes: readonly string[] = ["file", "gs", "s3", "http", "https", "hf", "memory", "mirror"];

const registered = new Map<string, () => StorageDriver>();

/**
 * Teaches every storage of this process, those that exist already too, the paths of another scheme. A module that calls it at its top
 * needs only be imported, in worker processes as well. For one storage alone there is the option `drivers` of createStorage.
 *
 * @param scheme - what stands before "://": two characters or more, lower case
 * @param open - makes the driver; called when a storage first meets the scheme, once for each storage
 * @returns what takes the scheme back
 * @throws MarinError RIGGING_BAD_SCHEME when it cannot be one, or is taken
 */
export function registerStorage(scheme: string, open: () => StorageDriver): Disposable {
  checkScheme(scheme);
  if (registered.has(scheme)) throw new MarinError("RIGGING_BAD_SCHEME", `Another driver serves ${scheme}: already; choose another scheme.`, { data: { scheme } });
  registered.set(scheme, open);
  return {
    [Symbol.dispose]: () => {
      if (registered.get(scheme) === open) registered.delete(scheme);
    },
  };
}

/** What was registered for a scheme. */
export function registeredDriver(scheme: string): (() => StorageDriver) | undefined {
  return registered.get(scheme);
}

/** @throws MarinError RIGGING_BAD_SCHEME for what is no scheme, or one of rigging's own */
export function checkScheme(scheme: string): void {
  const problem = !/^[a-z][a-z0-9+.-]+$/.test(scheme) ? "has to be two characters or more, a-z first, then a-z, 0-9, +, - and ." : ownSchemes.includes(scheme) ? "is served by rigging itself" : undefined;
  if (problem !== undefined) throw new MarinError("RIGGING_BAD_SCHEME", `The scheme "${scheme}" ${problem}; choose another.`, { data: { scheme } });
}
