import { MarinError, type Storage } from "@marin/iris";

/**
 * What a file of state holds; undefined where it is damaged: no JSON, or without one of the fields that it must have.
 *
 * @param fields - names of fields that are there always
 * @throws file errors
 */
export async function readState<T>(path: string, storage: Storage, fields: readonly (keyof T & string)[]): Promise<T | undefined> {
  const text = Buffer.from(await storage.read(path)).toString("utf8");
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  return fields.every((field) => Object.hasOwn(value, field)) ? (value as T) : undefined;
}

/** What a file in a scratch directory holds. @throws MarinError ZEPHYR_BAD_SCRATCH where it is damaged; file errors */
export async function readScratchState<T>(path: string, scratch: string, storage: Storage, fields: readonly (keyof T & string)[]): Promise<T> {
  const state = await readState<T>(path, storage, fields);
  if (state !== undefined) return state;
  throw new MarinError("ZEPHYR_BAD_SCRATCH", `${path} is damaged: it does not hold what an execution has written there. Remove the scratch directory ${scratch}, or use another one: what is finished in it will be made again.`, { data: { path, scratch } });
}
