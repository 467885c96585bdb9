import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inputName, outputName, type LoweredModel } from "../lowering/lower.js";
import { AlignedArena } from "../runtime/memory.js";
import type { BoundTensors, Runtime } from "../runtime/runtime.js";
import type { Specs } from "../types.js";
import { readProfile, type ProfiledTimes } from "./profile.js";

/** Runs that bring memory and caches into their steady state, and do not count. */
const WARMUP_RUNS = 1;
const COUNTED_RUNS = 3;

/**
 * Runs a model a few times in a session of its own that measures every operator.
 *
 * @param inputs - by their names in the ONNX graph; what is missing is zeros
 * @returns the times; `undefined` where the runtime offers no profile
 */
export async function profileModel(runtime: Runtime, threads: number, model: LoweredModel, inputs: BoundTensors): Promise<ProfiledTimes | undefined> {
  if (runtime.kind !== "koffi") return undefined;
  const directory = await mkdtemp(join(tmpdir(), "levanter-profile-"));
  try {
    const session = await runtime.createSession(model.bytes, { threads, profilePrefix: join(directory, "profile") });
    try {
      const missing = Object.fromEntries(Object.entries(model.inputs).filter(([name]) => !(inputName(name) in inputs)));
      const binding = session.bind({ ...inputs, ...fresh(runtime, missing, inputName) }, fresh(runtime, model.outputs, outputName));
      for (let run = 0; run < WARMUP_RUNS + COUNTED_RUNS; run++) await binding.run();
    } finally {
      // Writes the profile's end.
      session.dispose();
    }
    const [file] = await readdir(directory);
    return readProfile(await readFile(join(directory, file ?? ""), "utf8"), model.origins, WARMUP_RUNS);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function fresh(runtime: Runtime, specs: Specs, nameOf: (name: string) => string): BoundTensors {
  const arena = new AlignedArena(specs, runtime.addressOf);
  return Object.fromEntries(Object.entries(specs).map(([name, spec]) => [nameOf(name), { ...spec, data: arena.view(name) }]));
}
