import { cp, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { HOST_SPECS, hostState, type HostState } from "../../test/host-state.js";
import type { Specs } from "../engine/types.js";
import { readCheckpointMetadata, requireSameRun } from "./metadata.js";
import { readCheckpoint } from "./read-checkpoint.js";
import { checkpointPath, newestCheckpoint, promoteCheckpoint } from "./stored-checkpoints.js";
import { takeSnapshot, writeCheckpoint } from "./write-checkpoint.js";

const RUN = { "model.type": "test", "trainer.seed": 1 };

let root: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-checkpoint-files-"));
});
afterAll(() => rm(root, { recursive: true }));

const newRoot = (): string => join(root, String(next++));

async function save(path: string, step: number, { groups }: Pick<HostState, "groups">, maxFileBytes = 1000): Promise<string> {
  const directory = checkpointPath(path, step);
  await writeCheckpoint(directory, await takeSnapshot(groups), { step, temporary: false, engine: "engine 1", run: RUN, state: { skipped: [1, 2.5], due: null } }, maxFileBytes);
  return directory;
}

async function restored(path: string): Promise<{ step: number; values: number[] }> {
  const newest = await newestCheckpoint([path]);
  if (newest === undefined) throw new Error("no checkpoint");
  const state = hostState(1000);
  await readCheckpoint(newest.directory, newest.metadata, state.groups);
  return { step: newest.metadata.step, values: await state.values() };
}

describe("a checkpoint's files", () => {
  it("come back equal, and equal states make equal files", async () => {
    const [one, two] = [newRoot(), newRoot()];
    const directory = await save(one, 7, hostState(1));
    const other = await save(two, 7, hostState(1));
    expect(await restored(one)).toEqual({ step: 7, values: await hostState(1).values() });
    expect((await readdir(directory)).sort()).toEqual(["metadata.json", "moments.safetensors", "parameters.safetensors"]);
    for (const name of await readdir(directory)) expect(await readFile(join(directory, name))).toEqual(await readFile(join(other, name)));
    expect(await readCheckpointMetadata(directory)).toMatchObject({ step: 7, temporary: false, engine: "engine 1", run: RUN, state: { skipped: [1, 2.5], due: null } });
  });

  it("are safetensors files", async () => {
    const bytes = await readFile(join(await save(newRoot(), 1, hostState(0)), "parameters.safetensors"));
    const length = Number(bytes.readBigUInt64LE());
    expect((8 + length) % 8).toBe(0);
    expect(JSON.parse(bytes.toString("utf8", 8, 8 + length))).toEqual({
      "b.weight": { dtype: "F32", shape: [2, 3], data_offsets: [0, 24] },
      a: { dtype: "F32", shape: [], data_offsets: [24, 28] },
      empty: { dtype: "F32", shape: [0], data_offsets: [28, 28] },
    });
    expect(bytes.readFloatLE(8 + length)).toBeCloseTo(0.1, 6);
    expect(bytes.length).toBe(8 + length + 28);
  });

  it("are divided where they would be too large, between tensors, in order", async () => {
    const specs: Specs = Object.fromEntries([3, 5, 20, 2, 2, 4].map((length, i) => [`t${String(i)}`, { shape: [length], dtype: "float32" }]));
    const path = newRoot();
    const directory = await save(path, 1, hostState(3, specs), 32);
    const { files } = await readCheckpointMetadata(directory);
    expect(Object.entries(files).slice(0, 3).map(([name, { tensors }]) => [name, tensors])).toEqual([
      ["parameters-00001-of-00003.safetensors", ["t0", "t1"]],
      ["parameters-00002-of-00003.safetensors", ["t2"]],
      ["parameters-00003-of-00003.safetensors", ["t3", "t4", "t5"]],
    ]);
    const newest = await newestCheckpoint([path]);
    const state = hostState(1000, specs);
    if (newest !== undefined) await readCheckpoint(newest.directory, newest.metadata, state.groups);
    expect(await state.values()).toEqual(await hostState(3, specs).values());
    const name = "moments-00002-of-00003.safetensors";
    const bytes = await readFile(join(directory, name));
    bytes[bytes.length - 1] = 1 ^ (bytes.at(-1) ?? 0);
    await writeFile(join(directory, name), bytes);
    if (newest !== undefined) await expect(readCheckpoint(directory, newest.metadata, state.groups)).rejects.toMatchObject({ data: { file: join(directory, name) } });
  });

  it("refuse to be read when one is shortened, altered or gone, naming it and the way on", async () => {
    const path = newRoot();
    const directory = await save(path, 2, hostState(2));
    const expectCorrupt = async (file: string): Promise<void> => {
      const error: unknown = await restored(path).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "LEVANTER_CHECKPOINT_CORRUPT", data: { file: join(directory, file) } });
      expect((error as Error).message).toMatch(/expected .*, found .*Delete its directory to go on from the checkpoint before it/);
    };
    for (const name of ["parameters.safetensors", "moments.safetensors", "metadata.json"]) {
      const file = join(directory, name);
      const bytes = await readFile(file);
      for (const at of [9, bytes.length - 3]) {
        const altered = Buffer.from(bytes);
        altered[at] = (altered[at] ?? 0) ^ 1;
        await writeFile(file, altered);
        await expectCorrupt(name);
      }
      await truncate(file, 5);
      await expectCorrupt(name);
      await rm(file);
      await expectCorrupt(name);
      await writeFile(file, bytes);
    }
    // An older one is taken only after the damaged one was deleted.
    await save(path, 1, hostState(1));
    await truncate(join(directory, "moments.safetensors"), 5);
    await expectCorrupt("moments.safetensors");
    await rm(directory, { recursive: true });
    expect((await restored(path)).step).toBe(1);
  });

  it("are no checkpoint where nothing of one is there, and make room for one", async () => {
    const path = newRoot();
    await save(path, 1, hostState(1));
    const directory = await save(path, 2, hostState(2));
    for (const name of await readdir(directory)) await rm(join(directory, name));
    await writeFile(join(path, "step-00000007"), "a file");
    expect((await restored(path)).step).toBe(1);
    await rm(join(path, "step-00000007"));
    await save(path, 2, hostState(5));
    expect(await restored(path)).toEqual({ step: 2, values: await hostState(5).values() });
    expect((await readdir(path)).sort()).toEqual(["step-00000001", "step-00000002"]);
  });

  it("refuse a name of another step than theirs", async () => {
    const path = newRoot();
    const directory = await save(path, 2, hostState(2));
    await cp(directory, checkpointPath(path, 9), { recursive: true });
    await expect(restored(path)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_CORRUPT", data: { file: join(checkpointPath(path, 9), "metadata.json"), found: "that of step 2" } });
  });

  it("say of a directory that is none that it is none, wherever one is asked for", async () => {
    const path = newRoot();
    await save(path, 1, hostState(1));
    for (const directory of [path, join(path, "nothing"), join(path, "step-00000001", "metadata.json")]) {
      await expect(promoteCheckpoint(directory), directory).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISSING", data: { directory } });
    }
  });

  it("refuse headers that disagree with the model even when the digest fits", async () => {
    const directory = await save(newRoot(), 2, hostState(2));
    const metadata = await readCheckpointMetadata(directory);
    const { groups } = hostState(2, { ...HOST_SPECS, a: { shape: [1], dtype: "float32" } });
    await expect(readCheckpoint(directory, metadata, groups)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_CORRUPT", data: { found: "[]" } });
    const more = { ...groups, average: { specs: HOST_SPECS, buffers: {} } };
    await expect(readCheckpoint(directory, metadata, more)).rejects.toThrow(/expected the average b.weight, a, empty, found none/);
  });

  it("refuse another layout and another run, naming what differs", async () => {
    const path = newRoot();
    const directory = await save(path, 2, hostState(2));
    expect(() => {
      requireSameRun(directory, RUN, { ...RUN, "trainer.seed": 2, "model.width": 8 });
    }).toThrow(/trainer.seed \(checkpoint 1, now 2\), model.width \(checkpoint none, now 8\)/);
    const file = join(directory, "metadata.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('"formatVersion": 2', '"formatVersion": 3'));
    await expect(newestCheckpoint([path])).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_VERSION", data: { expected: 2, found: 3 } });
  });

  it("hold what JSON can hold, and nothing else", async () => {
    const path = newRoot();
    const snapshot = await takeSnapshot(hostState(1).groups);
    await expect(writeCheckpoint(checkpointPath(path, 1), snapshot, { step: 1, temporary: false, engine: "e", run: RUN, state: { mean: Number.NaN } }, 1000)).rejects.toThrow(/a checkpoint's state is JSON, with finite numbers/);
    expect(await readdir(path)).toEqual([]);
  });
});
