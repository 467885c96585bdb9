/** Whether a function gave a promise: awaiting what is none costs as much as the rest of the work on a record. */
export function isPromise(value: unknown): value is PromiseLike<unknown> {
  return typeof value === "object" && value !== null && typeof (value as { readonly then?: unknown }).then === "function";
}
