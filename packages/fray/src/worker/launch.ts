import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

/** Flags of Node that are about the one process they were given to; those of the second list take the next argument. */
const ownFlags = /^(--inspect|--debug|--eval|--print|--input-type|--watch|--test|--check|--interactive|--title|--cpu-prof|--heap-prof|--prof)/;
const ownFlagsWithArgument = new Set(["-e", "--eval", "-p", "--print", "-pe", "--input-type", "--title", "--watch-path", "--inspect-port"]);

/** How a worker is started. */
export interface Launch {
  /** The file it begins with. */
  readonly main: URL;
  /** Flags of Node for a process. */
  readonly execArgv: readonly string[];
  /** URL of the module that lets a thread load TypeScript; undefined where nothing but JavaScript is loaded. */
  readonly typescript: string | undefined;
}

/**
 * How to start a worker from here: as this process was started (loaders, conditions), with what this package itself needs
 * when it runs from its TypeScript sources, which test runners load without any flag.
 *
 * @param execArgv - the flags of this process
 */
export function launch(execArgv: readonly string[] = process.execArgv): Launch {
  const fromSource = import.meta.url.endsWith(".ts");
  const main = new URL(fromSource ? "./main.ts" : "./main.js", import.meta.url);
  const flags = inheritable(execArgv);
  const here = createRequire(import.meta.url);
  if (fromSource) {
    const tsx = here.resolve("tsx/package.json");
    const loader = tsxFile(tsx, "dist/loader.mjs");
    const others = flags.filter((flag, index) => !isTsx(flag) && !(flag === "--import" && isTsx(flags[index + 1] ?? "")));
    const conditions = others.some((flag, index) => flag === "--conditions=@marin/source" || (isConditions(flag) && others[index + 1] === "@marin/source"));
    return { main, execArgv: [...others, ...(conditions ? [] : ["--conditions=@marin/source"]), "--import", loader], typescript: tsxFile(tsx, threadModule) };
  }
  const loader = flags.map((flag) => flag.replace(/^--import=/, "")).find(isTsx);
  return { main, execArgv: flags, typescript: loader === undefined ? undefined : threadLoader(loader) };
}

function inheritable(execArgv: readonly string[]): readonly string[] {
  return execArgv.filter((flag, index) => !ownFlags.test(flag) && !ownFlagsWithArgument.has(flag) && !ownFlagsWithArgument.has(execArgv[index - 1] ?? ""));
}

function isConditions(flag: string): boolean {
  return flag === "--conditions" || flag === "-C";
}

function isTsx(flag: string): boolean {
  return /^(--import=)?tsx$|\/tsx\/dist\//.test(flag);
}

/** What tsx exports as "tsx/esm/api": `require.resolve` would give the form of it for CommonJS, which does not work in threads. */
const threadModule = "dist/esm/api/index.mjs";

function tsxFile(manifest: string, file: string): string {
  return pathToFileURL(join(dirname(manifest), file)).href;
}

/** tsx registers itself in the main thread only; its programming interface does it in others. */
function threadLoader(loader: string): string | undefined {
  try {
    const base = loader.startsWith("file:") ? fileURLToPath(loader) : `${process.cwd()}/package.json`;
    return tsxFile(createRequire(base).resolve("tsx/package.json"), threadModule);
  } catch {
    return undefined;
  }
}
