import { cp, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@marin/iris";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withFault } from "../../test/faulty-files.js";
import { hostState, type HostState } from "../../test/host-state.js";
import { Checkpointer, type CheckpointerOptions, type SaveReport } from "./checkpointer.js";
import { promoteCheckpoint } from "./stored-checkpoints.js";

const IDENTITY = { "model.type": "test", "trainer.seed": 1 };
const POLICIES = [{ every: 2, until: 10 }, { every: 5, until: 20 }, { every: 10 }];

let root: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-checkpointer-"));
});
afterAll(() => rm(root, { recursive: true }));

const newRoot = (): string => join(root, String(next++));

function open(directory: string, options: Partial<CheckpointerOptions> = {}): Promise<Checkpointer> {
  return Checkpointer.open({ directory, saveIntervalSeconds: 0, identity: IDENTITY, engine: { fingerprint: "engine 1" }, ...options });
}

/** Hands a step over and waits until it is on the disk. */
async function finish(checkpointer: Checkpointer, step: number, options: { force?: boolean; state?: HostState } = {}): Promise<SaveReport | undefined> {
  const { force = false, state = hostState(step) } = options;
  const report = await checkpointer.afterStep({ step, groups: state.groups, state: { at: step } }, { force });
  await checkpointer.settle();
  return report;
}

/** The steps on the disk, temporary ones marked. */
async function stored(...directories: string[]): Promise<string[]> {
  const found = await Promise.all(directories.map(async (directory) => (await readdir(directory)).filter((name) => !name.startsWith("."))));
  return found.flat().sort().map((name) => String(Number(name.slice(5))));
}

async function restored(checkpointer: Checkpointer): Promise<{ step: number; state: unknown; values: number[] }> {
  const newest = await checkpointer.newest();
  if (newest === undefined) throw new Error("no checkpoint");
  const target = hostState(1000);
  const state = await checkpointer.restore(newest, target);
  return { step: newest.metadata.step, state, values: await target.values() };
}

describe("Checkpointer", () => {
  it("policy table: makes permanent checkpoints of the steps that the policies name", async () => {
    const directory = newRoot();
    const checkpointer = await open(directory, { permanentEvery: POLICIES });
    for (let step = 0; step < 50; step++) await finish(checkpointer, step);
    expect(await stored(directory)).toEqual(["2", "4", "6", "8", "10", "15", "20", "30", "40"]);
  });

  it("policy table: makes temporary ones in time, keeps the newest, and ends them with a permanent one", async () => {
    const directory = newRoot();
    let now = 0;
    const checkpointer = await open(directory, { permanentEvery: POLICIES, saveIntervalSeconds: 3, clock: () => now });
    const seen: string[][] = [];
    for (let step = 1; step < 50; step++) {
      now += 1000;
      await finish(checkpointer, step);
      if ([13, 14, 15, 39, 40].includes(step)) seen.push(await stored(directory));
    }
    const permanent = ["2", "4", "6", "8", "10"];
    expect(seen).toEqual([
      [...permanent, "13"],
      [...permanent, "13"],
      [...permanent, "15"],
      [...permanent, "15", "20", "30", "39"],
      [...permanent, "15", "20", "30", "40"],
    ]);
    expect(await stored(directory)).toEqual([...permanent, "15", "20", "30", "40", "49"]);
    expect(checkpointer.saved).toMatchObject({ step: 49, temporary: true });
  });

  it("saves the next step on request, temporarily unless a permanent one is due", async () => {
    const directory = newRoot();
    const checkpointer = await open(directory, { permanentEvery: [{ every: 4 }] });
    expect(await finish(checkpointer, 1)).toBeUndefined();
    checkpointer.request();
    expect(await finish(checkpointer, 2)).toMatchObject({ step: 2, temporary: true });
    expect(await finish(checkpointer, 3)).toBeUndefined();
    checkpointer.request();
    expect(await finish(checkpointer, 4)).toMatchObject({ step: 4, temporary: false });
    expect(await finish(checkpointer, 5)).toBeUndefined();
    expect(await stored(directory)).toEqual(["4"]);
  });

  it("saves the end permanently, where the step is saved for a time by keeping that", async () => {
    const directory = newRoot();
    const checkpointer = await open(directory);
    checkpointer.request();
    expect(await finish(checkpointer, 3)).toMatchObject({ temporary: true, snapshotBytes: 56 });
    expect(await finish(checkpointer, 3, { force: true })).toMatchObject({ temporary: false, snapshotBytes: 0 });
    expect(await finish(checkpointer, 3, { force: true })).toBeUndefined();
    expect(await finish(checkpointer, 4, { force: true })).toMatchObject({ temporary: false, snapshotBytes: 56 });
    expect(await stored(directory)).toEqual(["3", "4"]);
    const one = await open(directory, { keepPermanent: 1 });
    expect(await restored(one)).toEqual({ step: 4, state: { at: 4 }, values: await hostState(4).values() });
    expect(await stored(directory)).toEqual(["4"]);
    expect(await finish(one, 4, { force: true })).toBeUndefined();
  });

  it("policy table: keeps a temporary one that was promoted", async () => {
    const directory = newRoot();
    const checkpointer = await open(directory, { permanentEvery: [{ every: 10 }], keepTemporary: 2 });
    for (const step of [3, 5, 6]) {
      checkpointer.request();
      await finish(checkpointer, step);
    }
    expect(await stored(directory)).toEqual(["5", "6"]);
    await promoteCheckpoint(join(directory, "step-00000005"));
    await finish(checkpointer, 10);
    expect(await stored(directory)).toEqual(["5", "10"]);
  });

  it("policy table: looks for the newest in both places, and removes an earlier run's temporary ones only after its own next", async () => {
    const [directory, temporaryDirectory] = [newRoot(), newRoot()];
    const options = { temporaryDirectory, permanentEvery: [{ every: 10 }] };
    const first = await open(directory, options);
    await finish(first, 10);
    first.request();
    await finish(first, 17);
    const second = await open(directory, options);
    expect((await restored(second)).step).toBe(17);
    expect([await stored(directory), await stored(temporaryDirectory)]).toEqual([["10"], ["17"]]);
    await finish(second, 18);
    second.request();
    const { error } = await withFault({ after: 3, mode: "once" }, () => finish(second, 19));
    expect(error).toMatchObject({ code: "RIGGING_DISK_FULL" });
    expect(await stored(temporaryDirectory)).toEqual(["17"]);
    await finish(second, 20);
    expect([await stored(directory), await stored(temporaryDirectory)]).toEqual([["10", "20"], []]);
    // A permanent and a temporary one of the same step: the permanent one counts, wherever it lies.
    second.request();
    await finish(second, 25);
    await finish(second, 25, { force: true, state: hostState(1) });
    await cp(join(directory, "step-00000020"), join(temporaryDirectory, "step-00000009"), { recursive: true });
    expect(await (await open(temporaryDirectory, { temporaryDirectory: directory })).newest()).toMatchObject({ directory: join(directory, "step-00000025"), metadata: { temporary: false } });
    expect((await restored(second)).values).toEqual(await hostState(1).values());
  });

  it("copies the state between two steps and writes it while they go on, one checkpoint at a time", async () => {
    const directory = newRoot();
    const order: string[] = [];
    const checkpointer = await open(directory, { permanentEvery: [{ every: 1 }], beforeSave: (step) => Promise.resolve(void order.push(`before ${String(step)}`)) });
    const state = hostState(1);
    const expected = await state.values();
    expect(await checkpointer.afterStep({ step: 1, groups: state.groups, state: null })).toMatchObject({ step: 1, snapshotBytes: 56 });
    expect(await stored(root)).not.toContain("1");
    expect(checkpointer.saved).toBeUndefined();
    await state.add(1);
    const second = checkpointer.afterStep({ step: 2, groups: state.groups, state: null });
    await second;
    // The first is whole before the second one's copy is taken.
    expect(checkpointer.saved).toMatchObject({ step: 1 });
    expect(await stored(directory)).toEqual(["1"]);
    await checkpointer.settle();
    expect(order).toEqual(["before 1", "before 2"]);
    await rm(join(directory, "step-00000002"), { recursive: true });
    expect((await restored(await open(directory))).values).toEqual(expected);
  });

  it("does not make training wait for what only time demands while another is being written", async () => {
    const directory = newRoot();
    const checkpointer = await open(directory, { permanentEvery: [{ every: 2 }], saveIntervalSeconds: 1e-9 });
    const content = (step: number): Parameters<Checkpointer["afterStep"]>[0] => ({ step, groups: hostState(step).groups, state: null });
    await checkpointer.afterStep(content(2));
    expect(await checkpointer.afterStep(content(3))).toBeUndefined();
    await checkpointer.settle();
    expect(await checkpointer.afterStep(content(3))).toMatchObject({ step: 3, temporary: true });
    await checkpointer.settle();
  });

  it("tells a failed write at the next call, keeps the checkpoint before, and can try again", async () => {
    const directory = newRoot();
    const checkpointer = await open(directory, { permanentEvery: [{ every: 1 }] });
    await finish(checkpointer, 1);
    const content = { step: 2, groups: hostState(2).groups, state: null };
    const { error } = await withFault({ after: 4, mode: "once" }, async () => {
      await checkpointer.afterStep(content);
      await checkpointer.settle();
    });
    expect(error).toMatchObject({ code: "RIGGING_DISK_FULL" });
    expect(checkpointer.saved).toMatchObject({ step: 1 });
    expect(await readdir(directory)).toEqual(["step-00000001"]);
    await finish(checkpointer, 2);
    expect((await restored(checkpointer)).step).toBe(2);
  });

  it("refuses another run's checkpoint, and warns about another engine", async () => {
    const directory = newRoot();
    await finish(await open(directory), 1, { force: true });
    await expect(restored(await open(directory, { identity: { ...IDENTITY, "trainer.seed": 2 } }))).rejects.toMatchObject({ code: "LEVANTER_CHECKPOINT_MISMATCH", data: { fields: ["trainer.seed"] } });
    const lines: string[] = [];
    await restored(await open(directory, { engine: { fingerprint: "engine 2" }, log: { ...silentLogger, warn: (line) => void lines.push(line) } }));
    expect(lines).toEqual([expect.stringMatching(/"engine 1", this is "engine 2".*may differ in the last bits/)]);
  });
});
