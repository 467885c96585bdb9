import { cp, mkdir, mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withFault } from "../../test/faulty-files.js";
import type { EngineBuffer, Specs } from "../engine/types.js";
import { newestCheckpoint, pruneCheckpoints, restoreCheckpoint, saveCheckpoint, type CheckpointState } from "./checkpoints.js";
import { readCheckpointMetadata, requireSameRun } from "./metadata.js";

const SPECS: Specs = { "b.weight": { shape: [2, 3], dtype: "float32" }, a: { shape: [], dtype: "float32" }, empty: { shape: [0], dtype: "float32" } };
const RUN = { "model.type": "test", "trainer.seed": 1 };

let root: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-checkpoints-"));
});
afterAll(() => rm(root, { recursive: true }));

/** A state in host memory whose numbers all follow from `seed`. */
function hostState(seed: number): CheckpointState & { values(): Promise<number[]> } {
  let value = seed;
  const group = (): Record<string, EngineBuffer> =>
    Object.fromEntries(
      Object.entries(SPECS).map(([name, spec]) => {
        const data = Float32Array.from({ length: spec.shape.reduce((a, b) => a * b, 1) }, () => (value += 0.1));
        const buffer: EngineBuffer = {
          spec,
          read: () => Promise.resolve(data.slice()),
          write: (source) => {
            data.set(source);
          },
        };
        return [name, buffer];
      }),
    );
  const state = { specs: SPECS, parameters: group(), firstMoments: group(), secondMoments: group() };
  return {
    ...state,
    async values() {
      const groups = [state.parameters, state.firstMoments, state.secondMoments];
      return (await Promise.all(groups.flatMap((buffers) => Object.values(buffers).map((buffer) => buffer.read())))).flatMap((data) => [...data]);
    },
  };
}

async function newRoot(): Promise<string> {
  const path = join(root, String(next++));
  await mkdir(path);
  return path;
}

async function restored(path: string): Promise<{ step: number; values: number[] }> {
  const newest = await newestCheckpoint(path);
  if (newest === undefined) throw new Error("no checkpoint");
  const state = hostState(1000);
  await restoreCheckpoint(newest.directory, newest.metadata, state);
  return { step: newest.metadata.step, values: await state.values() };
}

describe("checkpoints", () => {
  it("come back equal, and equal states make equal files", async () => {
    const [one, two] = [await newRoot(), await newRoot()];
    const state = hostState(1);
    const directory = await saveCheckpoint(one, 7, state, RUN, "engine 1");
    const other = await saveCheckpoint(two, 7, hostState(1), RUN, "engine 1");
    expect(await restored(one)).toEqual({ step: 7, values: await state.values() });
    expect((await readdir(directory)).sort()).toEqual(["metadata.json", "optimizer.safetensors", "parameters.safetensors"]);
    for (const name of await readdir(directory)) expect(await readFile(join(directory, name))).toEqual(await readFile(join(other, name)));
    expect(await readCheckpointMetadata(directory)).toMatchObject({ step: 7, engine: "engine 1", run: RUN });
  });

  it("are safetensors files", async () => {
    const path = await newRoot();
    const bytes = await readFile(join(await saveCheckpoint(path, 1, hostState(0), RUN, "e"), "parameters.safetensors"));
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

  it("are found by step, newest first, and pruned to the newest", async () => {
    const path = await newRoot();
    expect(await newestCheckpoint(path)).toBeUndefined();
    expect(await newestCheckpoint(join(path, "missing"))).toBeUndefined();
    for (const step of [9, 10, 100_000_000, 11]) await saveCheckpoint(path, step, hostState(step), RUN, "e");
    expect((await restored(path)).step).toBe(100_000_000);
    await mkdir(join(path, ".removed-step-00000001"));
    await pruneCheckpoints(path, 2);
    expect((await readdir(path)).sort()).toEqual(["step-00000011", "step-100000000"]);
  });

  it("refuse to be read when a file is shortened, altered or gone, naming it and the way on", async () => {
    const path = await newRoot();
    const directory = await saveCheckpoint(path, 2, hostState(2), RUN, "e");
    const expectCorrupt = async (file: string): Promise<void> => {
      const error: unknown = await restored(path).catch((thrown: unknown) => thrown);
      expect(error).toMatchObject({ code: "LEVANTER_CHECKPOINT_CORRUPT", data: { file: join(directory, file) } });
      expect((error as Error).message).toMatch(/expected .*, found .*Delete its directory to go on from the checkpoint before it/);
    };
    for (const file of ["parameters.safetensors", "optimizer.safetensors", "metadata.json"]) {
      const path = join(directory, file);
      const bytes = await readFile(path);
      for (const at of [9, bytes.length - 3]) {
        const altered = Buffer.from(bytes);
        altered[at] = (altered[at] ?? 0) ^ 1;
        await writeFile(path, altered);
        await expectCorrupt(file);
      }
      await truncate(path, 5);
      await expectCorrupt(file);
      await rm(path);
      await expectCorrupt(file);
      await writeFile(path, bytes);
    }
    await saveCheckpoint(path, 1, hostState(1), RUN, "e");
    await rm(join(directory, "metadata.json"));
    await expectCorrupt("metadata.json");
    await rm(directory, { recursive: true });
    expect((await restored(path)).step).toBe(1);
  });

  it("refuse headers that disagree with the model even when the digest fits", async () => {
    const path = await newRoot();
    const directory = await saveCheckpoint(path, 2, hostState(2), RUN, "e");
    const metadata = await readCheckpointMetadata(directory);
    const state = { ...hostState(2), specs: { ...SPECS, a: { shape: [1], dtype: "float32" } } as Specs };
    await expect(restoreCheckpoint(directory, metadata, state)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_CORRUPT", data: { found: "[]" } });
  });

  it("refuse a newer layout and another run, naming what differs", async () => {
    const path = await newRoot();
    const directory = await saveCheckpoint(path, 2, hostState(2), RUN, "e");
    expect(() => {
      requireSameRun(directory, RUN, { ...RUN, "trainer.seed": 2, "model.width": 8 });
    }).toThrow(/trainer.seed \(checkpoint 1, now 2\), model.width \(checkpoint none, now 8\)/);
    const file = join(directory, "metadata.json");
    await writeFile(file, (await readFile(file, "utf8")).replace('"formatVersion": 1', '"formatVersion": 2'));
    await expect(newestCheckpoint(path)).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_VERSION", data: { expected: 1, found: 2 } });
  });
});

describe("a checkpoint that cannot be finished", () => {
  it("leaves the one before it, whole, after a crash at any point", async () => {
    const start = await newRoot();
    const before = hostState(1);
    const after = hostState(2);
    await saveCheckpoint(start, 1, before, RUN, "e");
    let point = 0;
    for (let finished = false; !finished; point++) {
      const path = `${start}-crash-${String(point)}`;
      await cp(start, path, { recursive: true });
      const { error } = await withFault({ after: point, mode: "crash" }, async () => {
        await saveCheckpoint(path, 2, after, RUN, "e");
        await pruneCheckpoints(path, 1);
      });
      finished = error === undefined;
      const found = await restored(path);
      expect(found).toEqual({ step: found.step, values: await (found.step === 2 ? after : before).values() });
      // Whatever is left, the next attempt succeeds and cleans up what shows.
      await rm(join(path, "step-00000002"), { recursive: true, force: true });
      await saveCheckpoint(path, 2, after, RUN, "e");
      await pruneCheckpoints(path, 1);
      expect((await readdir(path)).filter((name) => !name.endsWith(".tmp"))).toEqual(["step-00000002"]);
    }
    expect(point).toBeGreaterThan(15);
  });

  it("leaves nothing behind when the disk is full, and says so", async () => {
    const path = await newRoot();
    await saveCheckpoint(path, 1, hostState(1), RUN, "e");
    let finished = false;
    let point = 0;
    for (; !finished; point++) {
      const { error } = await withFault({ after: point, mode: "once" }, () => saveCheckpoint(path, 2, hostState(2), RUN, "e"));
      finished = error === undefined;
      if (finished) break;
      expect(error).toMatchObject({ code: "RIGGING_DISK_FULL" });
      const visible = (await readdir(path)).filter((name) => !name.startsWith("."));
      // Only the flush of the parent after the rename can fail with the new checkpoint in place; it is whole then.
      expect(["step-00000001", "step-00000001,step-00000002"]).toContain(visible.join());
      expect((await restored(path)).step).toBe(visible.length);
      await rm(join(path, "step-00000002"), { recursive: true, force: true });
    }
    expect(point).toBeGreaterThan(10);
  });
});
