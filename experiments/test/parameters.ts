import { createHash } from "node:crypto";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";

import { directoryOf, type Finished } from "./run-command.js";

/** SHA-256 of the trained model's parameters; the train step leaves its last checkpoint only. */
export async function parametersOf(run: Finished): Promise<string> {
  const checkpoints = join(directoryOf(run, "train"), "checkpoints");
  const [last, ...others] = await readdir(checkpoints);
  if (last === undefined || others.length > 0) throw new Error(`expected one checkpoint in ${checkpoints}`);
  return createHash("sha256").update(await readFile(join(checkpoints, last, "parameters.safetensors"))).digest("hex");
}
