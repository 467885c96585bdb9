import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { MarinError } from "@marin/rigging";

import { isExperimentDefinition, type ExperimentDefinition } from "../experiment-definition.js";
import { nearest } from "../options/nearest.js";
import { usageError } from "./usage-error.js";

/** A script that may hold an experiment. */
export interface ExperimentScript {
  /** File name without its ending. */
  readonly name: string;
  /** Absolute path. */
  readonly file: string;
  /** Whether it exports nothing: then it holds no experiment but is a program that runs when it is imported. */
  readonly isProgram: boolean;
  /** The first paragraph of the comment that the script begins with; empty when there is none. */
  readonly comment: string;
}

/**
 * The folder of experiments: the nearest folder named `experiments` at or above the working directory, else that of the repository
 * this file lies in.
 *
 * @throws MarinError `MARIN_USAGE` when there is none
 */
export function experimentsFolder(workingDirectory: string): string {
  const own = fileURLToPath(new URL("../../../../experiments", import.meta.url));
  for (let directory = workingDirectory; ; directory = dirname(directory)) {
    const candidate = join(directory, "experiments");
    if (existsSync(candidate)) return candidate;
    if (directory === dirname(directory)) break;
  }
  if (existsSync(own)) return own;
  throw usageError(`there is no folder named experiments at or above ${workingDirectory}; name one with --experiments <folder>`);
}

/** The scripts under a folder, sorted by name; tests with what is in folders named test, declarations and installed packages are left out. */
export async function findScripts(folder: string): Promise<ExperimentScript[]> {
  let entries: string[];
  try {
    entries = await readdir(folder, { recursive: true });
  } catch (cause) {
    throw new MarinError("MARIN_USAGE", `the folder of experiments ${folder} cannot be read; name another with --experiments <folder>`, { data: { folder }, cause });
  }
  const files = entries
    .filter((entry) => /\.(ts|mts|js|mjs)$/.test(entry) && !/(^|[\\/])(node_modules|test)[\\/]|\.d\.m?ts$|\.(slow\.|soak\.)?test\.|\.config\./.test(entry))
    .map((entry) => ({ name: basename(entry).replace(/\.[^.]+$/, ""), file: join(folder, entry) }))
    .sort((a, b) => (a.name < b.name ? -1 : 1));
  return Promise.all(
    files.map(async (script) => {
      const text = await readFile(script.file, "utf8");
      return { ...script, isProgram: !/^export\b/m.test(text), comment: firstComment(text) };
    }),
  );
}

function firstComment(text: string): string {
  const comment = /^(?:#!.*\n)?\s*\/\*\*?([\s\S]*?)\*\//.exec(text)?.[1] ?? "";
  const lines = comment.split("\n").map((line) => line.replace(/^\s*\*?\s?/, "").trim());
  return lines.join("\n").trim().split("\n\n")[0]?.replaceAll("\n", " ") ?? "";
}

/**
 * Imports a script and returns its experiment; undefined when it holds none. A program is not imported.
 *
 * @throws MarinError `MARIN_EXPERIMENT_SCRIPT` when the script cannot be imported, holds several experiments, or names its own otherwise than its file
 */
export async function loadScript(script: ExperimentScript): Promise<ExperimentDefinition | undefined> {
  if (script.isProgram) return undefined;
  const where = relative(process.cwd(), script.file);
  let exports: Record<string, unknown>;
  try {
    // eslint-disable-next-line marin/computed-import -- the user's own script, named on the command line
    exports = (await import(pathToFileURL(script.file).href)) as Record<string, unknown>;
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new MarinError("MARIN_EXPERIMENT_SCRIPT", `${where} cannot be loaded: ${reason}`, { data: { file: script.file }, cause });
  }
  const experiments = Object.values(exports).filter(isExperimentDefinition);
  const [experiment] = experiments;
  if (experiments.length > 1) {
    throw new MarinError("MARIN_EXPERIMENT_SCRIPT", `${where} exports ${experiments.length} experiments: keep one in a script`, { data: { file: script.file } });
  }
  if (experiment !== undefined && experiment.name !== script.name) {
    throw new MarinError("MARIN_EXPERIMENT_SCRIPT", `${where} exports an experiment named ${experiment.name}: give the script and the experiment one name`, {
      data: { file: script.file, name: experiment.name },
    });
  }
  return experiment;
}

/** A script that can be run: one that holds an experiment, or a program. */
export interface LoadedScript {
  /** Undefined for a program. */
  readonly experiment: ExperimentDefinition | undefined;
  readonly script: ExperimentScript;
}

/**
 * The experiment or program of a name. A program is not imported.
 *
 * @throws MarinError `MARIN_UNKNOWN_EXPERIMENT` naming the nearest, `MARIN_EXPERIMENT_SCRIPT` when its script is faulty
 */
export async function loadExperiment(folder: string, name: string): Promise<LoadedScript> {
  const scripts = await findScripts(folder);
  const matching = scripts.filter((script) => script.name === name);
  if (matching.length > 1) {
    throw new MarinError("MARIN_EXPERIMENT_SCRIPT", `two scripts are named ${name}: ${matching.map((script) => script.file).join(" and ")}; rename one`);
  }
  const [script] = matching;
  if (script?.isProgram === true) return { experiment: undefined, script };
  const experiment = script === undefined ? undefined : await loadScript(script);
  if (script !== undefined && experiment !== undefined) return { experiment, script };
  const near = nearest(name, scripts.map((script) => script.name).filter((other) => other !== name));
  const advice = near === undefined ? `${folder} holds none` : `did you mean ${near}? (--list names all)`;
  throw new MarinError("MARIN_UNKNOWN_EXPERIMENT", `there is no experiment ${name} under ${folder}: ${advice}`, { data: { name, nearest: near } });
}
