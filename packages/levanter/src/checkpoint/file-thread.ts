import { Worker } from "node:worker_threads";

/** Size and digest of a finished file. */
export interface FileDigest {
  /** Size in bytes. */
  readonly bytes: number;
  /** SHA-256 of the contents, hexadecimal. */
  readonly sha256: string;
}

// As text, because a file would need a loader where this package runs from TypeScript. Its calls block: the thread has nothing else to do.
const CODE = `
  const fs = require("node:fs");
  const { createHash } = require("node:crypto");
  const { parentPort } = require("node:worker_threads");
  const PIECE = 8 << 20;
  const actions = {
    write({ path, parts }) {
      const hash = createHash("sha256");
      let bytes = 0;
      const file = fs.openSync(path, "wx");
      try {
        for (const part of parts) {
          for (let at = 0; at < part.length; ) {
            const written = fs.writeSync(file, part, at, Math.min(part.length - at, PIECE));
            hash.update(part.subarray(at, at + written));
            at += written;
          }
          bytes += part.length;
        }
        fs.fsyncSync(file);
      } finally {
        fs.closeSync(file);
      }
      return { bytes, sha256: hash.digest("hex") };
    },
    digest({ path }) {
      const hash = createHash("sha256");
      const piece = Buffer.allocUnsafeSlow(PIECE);
      let bytes = 0;
      const file = fs.openSync(path, "r");
      try {
        for (let read; (read = fs.readSync(file, piece, 0, PIECE, bytes)) > 0; bytes += read) hash.update(piece.subarray(0, read));
      } finally {
        fs.closeSync(file);
      }
      return { bytes, sha256: hash.digest("hex") };
    },
  };
  parentPort.on("message", ({ id, action, request }) => {
    let answer;
    try {
      answer = { id, result: actions[action](request) };
    } catch ({ message, code, syscall, path }) {
      // A copied error would lose its code.
      answer = { id, error: { message, code, syscall, path } };
    }
    parentPort.postMessage(answer);
  });`;

interface Answer {
  readonly id: number;
  readonly result?: FileDigest;
  readonly error?: { readonly message: string };
}

interface Waiting {
  readonly resolve: (digest: FileDigest) => void;
  readonly reject: (error: unknown) => void;
}

/** A thread that writes files and computes digests, one after the other, while the main thread goes on. */
export class FileThread {
  readonly #worker = new Worker(CODE, { eval: true, name: "levanter checkpoint", execArgv: [], stdin: false });
  readonly #waiting = new Map<number, Waiting>();
  #next = 0;

  constructor() {
    this.#worker.on("message", ({ id, result, error }: Answer) => {
      const waiting = this.#waiting.get(id);
      this.#waiting.delete(id);
      if (result !== undefined) waiting?.resolve(result);
      else waiting?.reject(Object.assign(new Error(error?.message), error));
    });
    this.#worker.on("error", (error) => {
      this.#fail(error);
    });
    this.#worker.on("exit", () => {
      this.#fail(new Error("the thread that writes checkpoints has ended"));
    });
  }

  /**
   * Writes a new file and flushes it to the disk. System errors keep their `code`, `syscall` and `path`.
   *
   * @param parts - the contents, in order. Their memory is moved to the thread: the caller's views are empty afterwards
   */
  write(path: string, parts: readonly Uint8Array[]): Promise<FileDigest> {
    return this.#ask("write", { path, parts }, [...new Set(parts.map(({ buffer }) => buffer as ArrayBuffer))]);
  }

  /** Size and digest of a file. System errors keep their `code`, `syscall` and `path`. */
  digest(path: string): Promise<FileDigest> {
    return this.#ask("digest", { path }, []);
  }

  /** Ends the thread; what it has not finished fails. */
  async close(): Promise<void> {
    await this.#worker.terminate();
  }

  #ask(action: string, request: object, moved: readonly ArrayBuffer[]): Promise<FileDigest> {
    return new Promise((resolve, reject) => {
      const id = this.#next++;
      this.#waiting.set(id, { resolve, reject });
      this.#worker.postMessage({ id, action, request }, moved);
    });
  }

  #fail(error: unknown): void {
    for (const { reject } of this.#waiting.values()) reject(error);
    this.#waiting.clear();
  }
}
