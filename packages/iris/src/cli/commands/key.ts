import { join } from "node:path";
import { openApiKeys } from "@marin/rigging";
import { MarinError } from "../../platform.js";
import type { CommandContext, TargetFlags } from "../context.js";
import { directoryOf, keysDirectory } from "../directory.js";
import { exitCodes } from "../exit-codes.js";
import { usageError } from "../usage.js";

/** Flags of `iris key`. */
export interface KeyFlags extends TargetFlags {
  readonly scope?: readonly string[];
  readonly expires?: number;
}

/** `iris key create <name>`, `iris key list`, `iris key revoke <id>`: the keys by which a controller's server lets others in. Works on its directory. */
export async function keyCommand({ environment, output }: CommandContext, action: string, name: string | undefined, { scope, expires, ...flags }: KeyFlags): Promise<number> {
  const keys = await openApiKeys(join(directoryOf(flags, environment), keysDirectory));
  if (action === "list") {
    const records = await keys.list();
    for (const { hash: _, ...record } of records) output.event("key", record);
    const time = (at: number | undefined): string => (at === undefined ? "" : new Date(at).toISOString());
    if (records.length === 0) output.line("no keys");
    else output.table(["ID", "NAME", "SCOPES", "CREATED", "EXPIRES", "REVOKED"], records.map((record) => [record.id, record.name, record.scopes.join(" "), time(record.createdAt), time(record.expiresAt), time(record.revokedAt)]));
    return exitCodes.success;
  }
  if (name === undefined) throw usageError(action === "create" ? "name whom the key is for: iris key create ada --scope jobs:*" : "name the key's id: iris key list shows them");
  if (action === "revoke") {
    await keys.revoke(name);
    output.event("revoked", { id: name });
    output.line(`${name}: revoked`);
    return exitCodes.success;
  }
  // It stands in the ids of this user's jobs, as one word.
  // eslint-disable-next-line no-control-regex -- they are what is refused
  if (!/^[^/\u0000-\u001f]{1,128}$/.test(name)) throw usageError(`${JSON.stringify(name)} is no user's name: it has no "/", no control characters, and at most 128 characters`);
  const { key, record } = await keys.create({ name, scopes: scope ?? ["jobs:*", "cluster:read"], ...(expires === undefined ? {} : { expiresAt: Date.now() + expires }) }).catch((error: unknown) => {
    throw error instanceof MarinError && error.code === "RIGGING_BAD_SCOPE" ? usageError(error.message) : error;
  });
  output.note(`key ${record.id} for ${name}, with ${record.scopes.join(" ")}; it is shown this once`);
  // The one place where a secret is written out: whoever asked for it is to have it.
  environment.stdout.write(output.json ? `${JSON.stringify({ event: "created", id: record.id, name, scopes: record.scopes, key: key.reveal() })}\n` : `${key.reveal()}\n`);
  return exitCodes.success;
}
