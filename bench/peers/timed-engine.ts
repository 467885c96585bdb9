import type { Engine, Program } from "@marin/levanter";

/** An engine that knows how long it compiled, and how long its programs ran. */
export interface TimedEngine {
  readonly engine: Engine;
  /** Time spent tracing and compiling so far. */
  readonly compileMilliseconds: () => number;
  /** The function compiled last under this name. */
  readonly program: (name: string) => Program;
  /** What ran since the last call: time in which at least one program ran, and the time of each program. */
  readonly take: () => { readonly inside: number; readonly programs: Readonly<Record<string, number>> };
}

type Method = (...args: unknown[]) => unknown;

/** The methods that make programs. */
const COMPILERS: ReadonlySet<PropertyKey> = new Set(["compile", "compileElementwise", "compileReduce"]);

/** Wraps an engine; buffers and everything else are the engine's own. */
export function timed(target: Engine): TimedEngine {
  let compiling = 0;
  let [running, since, inside] = [0, 0, 0];
  let programs: Record<string, number> = {};
  const compiled = new Map<string, object>();

  const timedRun = async (name: string, run: () => Promise<unknown>): Promise<unknown> => {
    const start = performance.now();
    if (running++ === 0) since = start;
    try {
      return await run();
    } finally {
      const end = performance.now();
      if (--running === 0) inside += end - since;
      programs[name] = (programs[name] ?? 0) + end - start;
    }
  };

  /** Calls go to the object itself, which has private fields; `replaced` gives other functions for some of them. */
  const forwarding = <T extends object>(object: T, replaced: (key: PropertyKey, own: Method) => Method | undefined): T =>
    new Proxy(object, {
      get(_, key) {
        const value = Reflect.get(object, key, object) as unknown;
        if (typeof value !== "function") return value;
        return replaced(key, value as Method) ?? (value.bind(object) as unknown);
      },
    });

  const engine = forwarding(target, (key, own) => {
    if (!COMPILERS.has(key)) return undefined;
    return async (...args: unknown[]) => {
      const name = args[0] as string;
      const start = performance.now();
      const program = (await own.apply(target, args)) as object;
      compiling += performance.now() - start;
      compiled.set(name, program);
      return forwarding(program, (member, run) => (member === "run" ? (...given: unknown[]) => timedRun(name, () => run.apply(program, given) as Promise<unknown>) : undefined));
    };
  });

  return {
    engine,
    compileMilliseconds: () => compiling,
    program(name) {
      const found = compiled.get(name);
      if (found === undefined) throw new TypeError(`no program "${name}" was compiled`);
      return found as Program;
    },
    take() {
      const taken = { inside, programs };
      [inside, programs] = [0, {}];
      return taken;
    },
  };
}
