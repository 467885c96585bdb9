import { MarinError } from "@marin/rigging";
import { join } from "node:path";

/** An artifact's file or record is not what was written. */
export function corrupt(directory: string, file: string, expected: string, found: string, cause?: unknown): MarinError {
  const path = join(directory, file);
  return new MarinError("FINESTORE_CORRUPT", `${path} was changed or damaged: expected ${expected}, found ${found}. Remove ${directory} and run again to rebuild it.`, {
    data: { path, directory, file, expected, found },
    ...(cause === undefined ? {} : { cause }),
  });
}

/** A producer left something that an artifact cannot hold. */
export function badFile(root: string, path: string, problem: string): MarinError {
  return new MarinError("FINESTORE_BAD_FILE", `${join(root, path)} ${problem}.`, { data: { path } });
}

/** A name or fingerprint that no artifact can have. */
export function badName(field: string, found: string, rule: string): MarinError {
  return new MarinError("FINESTORE_BAD_NAME", `An artifact's ${field} consists of ${rule}, found ${JSON.stringify(found)}.`, { data: { field, found } });
}

/** Another process holds the artifact. */
export function busy(name: string, fingerprint: string, cause: MarinError): MarinError {
  return new MarinError("FINESTORE_BUSY", `Artifact ${name} (${fingerprint.slice(0, 12)}) is being produced already. ${cause.message}`, {
    data: { name, fingerprint, ...cause.data },
    cause,
  });
}
