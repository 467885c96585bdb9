import { createStorage, getIrisCtx, type Storage } from "@marin/iris";

let shared: Storage | undefined;

/** Where files lie: the running task's storage, or outside a task the process's own. */
export function currentStorage(): Storage {
  return getIrisCtx()?.storage ?? (shared ??= createStorage());
}
