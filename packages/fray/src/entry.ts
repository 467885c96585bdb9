import { AsyncLocalStorage } from "node:async_hooks";
import { isAbsolute } from "node:path";
import { pathToFileURL } from "node:url";
import { isMarinError, MarinError } from "@marin/ducky";

declare const signature: unique symbol;

/**
 * A function or class by the module that exports it: what can travel to a worker, where a closure cannot. Plain JSON. Made
 * by {@link entry}.
 */
export interface Entry<A extends unknown[] = unknown[], R = unknown> {
  /** URL of the module. */
  readonly module: string;
  /** Name of the export. */
  readonly export: string;
  /** Only a type: what it takes and gives. */
  readonly [signature]?: (...args: A) => R;
}

/** Anything that can be called; parameters are the entry's to infer. */
// eslint-disable-next-line @typescript-eslint/no-explicit-any -- only `any` accepts functions of every parameter list
type Callable = ((...args: any[]) => any) | (abstract new (...args: any[]) => any);

/** The entry of a function, or of a class: what its constructor takes, and an instance. */
type EntryOf<F extends Callable> = F extends abstract new (...args: infer A) => infer R ? Entry<A, R> : F extends (...args: infer A) => infer R ? Entry<A, Awaited<R>> : never;

/**
 * Names an exported function, so that a worker can import and call it: `entry<typeof tokenize>(import.meta.url, "tokenize")`.
 * The module is imported afresh in the worker, so what stands at its top level runs there too.
 *
 * @param moduleUrl - `import.meta.url` of the module, or an absolute path
 * @param exportName - name of the export
 * @throws MarinError FRAY_INLINE_FUNCTION when a function is given, showing the named form; FRAY_BAD_ENTRY
 */
export function entry<F extends Callable>(moduleUrl: string | URL, exportName: string): EntryOf<F> {
  for (const given of [moduleUrl, exportName] as unknown[]) {
    if (typeof given === "function") throw inlineFunction(given);
  }
  const module = asUrl(moduleUrl);
  if (typeof exportName !== "string" || exportName === "") {
    throw new MarinError("FRAY_BAD_ENTRY", `An entry needs the name of an export of ${module}, found ${JSON.stringify(exportName)}.`, { data: { module, export: exportName } });
  }
  return { module, export: exportName } as EntryOf<F>;
}

function inlineFunction(given: object): MarinError {
  const name = (given as { readonly name?: string }).name || "work";
  return new MarinError(
    "FRAY_INLINE_FUNCTION",
    `The function ${name} cannot be sent to a worker: it may hold variables of this process. Export it from a module and name it: entry<typeof ${name}>(import.meta.url, "${name}").`,
    { data: { name } },
  );
}

function asUrl(moduleUrl: string | URL): string {
  const text = String(moduleUrl);
  if (isAbsolute(text)) return pathToFileURL(text).href;
  if (/^(file|data|node):/.test(text)) return text;
  throw new MarinError("FRAY_BAD_ENTRY", `An entry's module is a file: URL or an absolute path, found "${text}". Give import.meta.url of the module that exports it.`, { data: { module: text } });
}

/** An entry as people read it. */
export function describeEntry({ module, export: name }: Entry): string {
  return `${name} of ${module.startsWith("data:") ? "data:..." : module}`;
}

/** Each call would otherwise ask the loader again: that takes longer than the rest of the call where modules are TypeScript. */
const loadedModules = new Map<string, Readonly<Record<string, unknown>>>();

/** The module on whose behalf code runs, until it is loaded. */
const loading = new AsyncLocalStorage<{ readonly module: string; done: boolean }>();

/** The module whose top level this code is called from, while an entry is loaded. */
export function moduleOnLoad(): string | undefined {
  const state = loading.getStore();
  return state?.done === false ? state.module : undefined;
}

async function loadModule(module: string): Promise<Readonly<Record<string, unknown>>> {
  if (moduleOnLoad() === module) throw waitsForItself(module);
  const state = { module, done: false };
  const idle = whenIdle();
  try {
    // eslint-disable-next-line marin/computed-import -- the caller names the module
    const importing = loading.run(state, () => import(module)) as Promise<Readonly<Record<string, unknown>>>;
    const loaded = await Promise.race([importing, idle.happens]);
    if (loaded === undefined) throw waitsForItself(module);
    loadedModules.set(module, loaded);
    return loaded;
  } catch (cause) {
    if (isMarinError(cause, "FRAY_ENTRY_CYCLE")) throw cause;
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("FRAY_ENTRY_IMPORT", `The module ${module} does not load: ${why}`, { data: { module }, cause });
  } finally {
    idle.forget();
    state.done = true;
  }
}

/** Fulfilled when this process has nothing left to do: an import that is not done by then waits for something that waits for it. */
function whenIdle(): { readonly happens: Promise<undefined>; readonly forget: () => void } {
  let onIdle: () => void = () => undefined;
  const happens = new Promise<undefined>((resolve) => {
    onIdle = () => {
      resolve(undefined);
    };
  });
  idleListeners.add(onIdle);
  if (idleListeners.size === 1) process.on("beforeExit", tellIdle);
  return {
    happens,
    forget: () => {
      idleListeners.delete(onIdle);
      if (idleListeners.size === 0) process.off("beforeExit", tellIdle);
    },
  };
}

const idleListeners = new Set<() => void>();

function tellIdle(): void {
  for (const listener of idleListeners) listener();
}

function waitsForItself(module: string): MarinError {
  return new MarinError(
    "FRAY_ENTRY_CYCLE",
    `The module ${module} waits at its top level for work that needs the module itself: it is never done loading. Move the functions of the work to a module of their own, or start it from a function that the top level does not await.`,
    { data: { module } },
  );
}

/**
 * Imports what an entry names.
 *
 * @throws MarinError FRAY_ENTRY_IMPORT when the module does not load (the cause says why), FRAY_ENTRY_CYCLE when it waits for itself, FRAY_ENTRY_MISSING
 * when it has no such export or it is no function
 */
export async function loadEntry<A extends unknown[], R>(named: Entry<A, R>): Promise<(...args: A) => R | Promise<R>> {
  const loaded = loadedModules.get(named.module) ?? (await loadModule(named.module));
  const found = loaded[named.export];
  if (typeof found !== "function") {
    const functions = Object.keys(loaded).filter((name) => typeof loaded[name] === "function");
    throw new MarinError(
      "FRAY_ENTRY_MISSING",
      `The module ${named.module} exports no function "${named.export}"; it exports ${functions.length === 0 ? "none" : functions.join(", ")}.`,
      { data: { module: named.module, export: named.export, functions } },
    );
  }
  return found as (...args: A) => R | Promise<R>;
}
