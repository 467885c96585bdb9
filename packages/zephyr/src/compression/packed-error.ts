import { MarinError } from "@marin/iris";

/** Where reading of a packed file ended. */
interface PackedPlace {
  /** ZEPHYR_BAD_GZIP, ... */
  readonly code: string;
  /** The file. */
  readonly path: string;
  /** About where, in bytes of the packed file. */
  readonly offset: number;
  /** What the library says. */
  readonly cause?: unknown;
}

/** The error of a packed file that cannot be unpacked. */
export function packedError(reason: string, { code, path, offset, cause }: PackedPlace): MarinError {
  return new MarinError(code, `${path} cannot be unpacked, near byte ${String(offset)}: ${reason}.`, { data: { path, offset }, ...(cause === undefined ? {} : { cause }) });
}

/** The error of a packed file that would need more than is there. */
export function unsupportedCompression(path: string, reason: string, cause?: unknown): MarinError {
  return new MarinError("ZEPHYR_COMPRESSION_UNSUPPORTED", `${path} cannot be unpacked here: ${reason}.`, { data: { path }, ...(cause === undefined ? {} : { cause }) });
}
