import { MarinError } from "@marin/ducky";
import { formatBytes } from "../bytes.js";

/** What was being done when the system refused. */
export interface FileOperation {
  /** A verb phrase: "write", "read", "create the directory". */
  readonly action: string;
  /** The file or directory the caller named. */
  readonly path: string;
  /** Bytes the operation needs, where known. */
  readonly bytes?: number;
}

const explanations: Readonly<Record<string, readonly [code: string, explanation: string]>> = {
  ENOSPC: ["RIGGING_DISK_FULL", "the disk is full; free some space, or choose a directory on another disk"],
  EDQUOT: ["RIGGING_DISK_FULL", "the disk quota is used up; free some space, or choose a directory on another disk"],
  EACCES: ["RIGGING_ACCESS_DENIED", "permission denied; check the owner and mode of the file and of the directory around it"],
  EPERM: ["RIGGING_ACCESS_DENIED", "the system does not permit it; check the owner and mode of the file and of the directory around it"],
  EROFS: ["RIGGING_ACCESS_DENIED", "the file system is read-only; choose a directory on another one"],
  ENOENT: ["RIGGING_NOT_FOUND", "there is no such file or directory"],
  ENOTDIR: ["RIGGING_NOT_FOUND", "a part of the path is a file, not a directory"],
  EEXIST: ["RIGGING_EXISTS", "something is there already"],
  EISDIR: ["RIGGING_IS_DIRECTORY", "it is a directory, and a file is needed"],
  EXDEV: ["RIGGING_UNSUPPORTED", "the two paths lie on different file systems; copy, then remove"],
  EMFILE: ["RIGGING_TOO_MANY_FILES", "too many files are open; raise the limit (ulimit -n)"],
  ENFILE: ["RIGGING_TOO_MANY_FILES", "too many files are open on this machine"],
};

/**
 * A system error as a MarinError that names the action, the path and the remedy. Anything that is not a system error (the
 * caller's own exception, an abort) is returned as it is.
 */
export function fileError(error: unknown, operation: FileOperation): unknown {
  if (!isSystemError(error)) return error;
  const [code, explanation] = explanations[error.code] ?? ["RIGGING_FILE_FAILED", error.message];
  const needed = operation.bytes === undefined ? "" : ` (${formatBytes(operation.bytes)} needed)`;
  return new MarinError(code, `Cannot ${operation.action} ${operation.path}${needed}: ${explanation}.`, {
    data: { path: operation.path, systemCode: error.code, ...(operation.bytes === undefined ? {} : { bytes: operation.bytes }) },
    cause: error,
  });
}

function isSystemError(error: unknown): error is NodeJS.ErrnoException & { readonly code: string } {
  return error instanceof Error && "syscall" in error && "code" in error && typeof error.code === "string";
}
