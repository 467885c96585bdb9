import { type Entry, loadEntry, MarinError } from "@marin/iris";

declare const signature: unique symbol;

/** An exported function with its first arguments filled in: plain data, as long as they are. Made by {@link bind}. */
export interface BoundEntry<A extends unknown[] = unknown[], R = unknown> {
  /** The function, by its module. */
  readonly entry: Entry;
  /** Its first arguments. */
  readonly args: readonly unknown[];
  /** Only a type: what it takes besides, and gives. */
  readonly [signature]?: (...args: A) => R;
}

/**
 * A function of a dataset's operation: written inline, which runs in this process only, or named by its module, which workers
 * import: `entry<typeof tokenize>(import.meta.url, "tokenize")`, or {@link bind} of such an entry.
 */
export type Work<A extends unknown[] = never[], R = unknown> = ((...args: A) => R | Promise<R>) | Entry<A, R> | BoundEntry<A, R>;

/** A function, whose parameters are not looked at. */
export type AnyWork = Work<never[], unknown>;

/** The function of a {@link Work}. */
export type WorkFunction = (...args: unknown[]) => unknown;

/**
 * Fills in the first arguments of an exported function, as `Function.prototype.bind` does, so that it still can be sent to
 * workers: `bind(entry<typeof keepLonger>(import.meta.url, "keepLonger"), 5)` calls `keepLonger(5, item, index)`.
 *
 * @param named - made by `entry`
 * @param args - plain data that structuredClone takes
 */
export function bind<B extends unknown[], A extends unknown[], R>(named: Entry<[...B, ...A], R>, ...args: B): BoundEntry<A, R> {
  return { entry: named as Entry, args };
}

/** Whether it can be sent to a worker. */
export function isNamed(work: AnyWork): work is Entry<never[]> | BoundEntry<never[]> {
  return typeof work !== "function";
}

/** The function, imported where it is named. @throws MarinError FRAY_ENTRY_IMPORT, FRAY_ENTRY_MISSING */
export async function resolveWork(work: AnyWork): Promise<WorkFunction> {
  if (typeof work === "function") return work as WorkFunction;
  if ("module" in work) return (await loadEntry(work as Entry)) as WorkFunction;
  const { entry, args } = work;
  const named = (await loadEntry(entry)) as WorkFunction;
  return (...rest) => named(...args, ...rest);
}

/** As people read it: the name of the export or of the function. */
export function describeWork(work: AnyWork): string {
  if (typeof work === "function") return work.name === "" ? "(inline)" : work.name;
  return "module" in work ? work.export : `${work.entry.export}(${work.args.map((arg) => shortText(arg)).join(", ")})`;
}

function shortText(value: unknown): string {
  const text = JSON.stringify(value, (_key, each: unknown) => (typeof each === "bigint" ? `${String(each)}n` : each)) ?? String(value);
  return text.length > 40 ? `${text.slice(0, 37)}...` : text;
}

/** The refusal of an inline function, showing the named form. */
export function inlineFunction(work: AnyWork, operation: string, workers: number): MarinError {
  const name = typeof work === "function" && work.name !== "" ? work.name : "work";
  return new MarinError(
    "ZEPHYR_INLINE_FUNCTION",
    `The function "${name}" of ${operation} cannot be sent to ${String(workers)} workers: it may hold variables of this process. Export it from a module and name it by entry of @marin/iris: ` +
      `entry<typeof ${name}>(import.meta.url, "${name}"), or bind(entry<typeof ${name}>(import.meta.url, "${name}"), ...firstArguments) for what it needs besides; ` +
      "or execute with workers: 0.",
    { data: { operation, name } },
  );
}
