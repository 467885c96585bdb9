import { resolve } from "node:path";
import { z } from "zod";
import type { TargetFlags } from "./context.js";
import type { CliEnvironment } from "./environment.js";

/** Where a controller keeps everything unless it is told otherwise. */
export const defaultDirectory = ".iris";

/** Name of a controller's database in its directory. */
export const databaseFile = "iris.db";

/** Name of the directory in a controller's directory that holds its API keys, as hashes. */
export const keysDirectory = "keys";

/** Name of the file in a controller's directory that tells this machine's commands where its server is. */
export const controllerFile = "controller.json";

/** What stands in it. */
export const controllerFileSchema = z.strictObject({
  url: z.string().describe("where the server is"),
  token: z.string().describe("what it asks for"),
  pid: z.number().int().describe("the controller's process"),
});

/** A controller's directory. */
export function directoryOf({ dir }: TargetFlags, { variables, workingDirectory }: CliEnvironment): string {
  return resolve(workingDirectory, dir ?? variables["IRIS_DIR"] ?? defaultDirectory);
}
