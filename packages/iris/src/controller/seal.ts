import { createCipheriv, createDecipheriv, randomBytes } from "node:crypto";
import { chmod, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MarinError, isMarinError, writeFileAtomic } from "../platform.js";

/** Makes bytes unreadable for who has no key, and readable again. */
export interface Seal {
  seal(plain: Uint8Array): Uint8Array;
  /** @throws MarinError IRIS_SEAL_BROKEN when the bytes are not what this key has sealed */
  open(sealed: Uint8Array): Uint8Array;
}

/** Name of the key's file in a controller's directory. Leave it out of copies that others may read. */
export const sealKeyName = "seal.key";

const [keyBytes, nonceBytes, tagBytes] = [32, 12, 16];

/** A seal whose key is only in this process's memory. */
export function memorySeal(): Seal {
  return sealWith(randomBytes(keyBytes));
}

/**
 * The seal of a directory. Variables, arguments and commands of jobs may hold secrets: they stand sealed in the controller's database, so that neither a copy of it nor a query shows them.
 *
 * @param directory - an existing directory, held by this process; the key's file is made there when missing, readable for its owner alone
 * @throws MarinError IRIS_SEAL_BROKEN when the key's file is damaged; file errors
 */
export async function openSeal(directory: string): Promise<Seal> {
  const path = join(directory, sealKeyName);
  const read = async (): Promise<Buffer | undefined> =>
    readFile(path).catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw error;
    });
  let key = await read();
  if (key === undefined) {
    await writeFileAtomic(path, randomBytes(keyBytes), { ifAbsent: true }).catch((error: unknown) => {
      if (!isMarinError(error, "RIGGING_EXISTS")) throw error;
    });
    await chmod(path, 0o600);
    key = await read();
  }
  if (key?.length !== keyBytes) throw new MarinError("IRIS_SEAL_BROKEN", `${path} is no key: it must hold ${String(keyBytes)} bytes. Restore it from a copy; without it, jobs that have not ended cannot be started again.`, { data: { path } });
  return sealWith(key);
}

function sealWith(key: Buffer): Seal {
  return {
    seal(plain) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv("aes-256-gcm", key, nonce);
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    },
    open(sealed) {
      try {
        const decipher = createDecipheriv("aes-256-gcm", key, sealed.subarray(0, nonceBytes), { authTagLength: tagBytes });
        decipher.setAuthTag(sealed.subarray(-tagBytes));
        return Buffer.concat([decipher.update(sealed.subarray(nonceBytes, -tagBytes)), decipher.final()]);
      } catch (cause) {
        throw new MarinError("IRIS_SEAL_BROKEN", `What is kept was not sealed with the key in ${sealKeyName}, or is damaged.`, { cause });
      }
    },
  };
}
