import { spawnSync } from "node:child_process";
import { cp, mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { withFault } from "../../test/faulty-files.js";
import { hostState } from "../../test/host-state.js";
import { Checkpointer, type CheckpointerOptions } from "./checkpointer.js";

const CHILD = fileURLToPath(new URL("../../test/checkpoint-child.ts", import.meta.url));
/** Operations between two at which a process is killed; every one is tried without a process. */
const KILL_STRIDE = 4;

let root: string;
let next = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "levanter-crash-"));
});
afterAll(() => rm(root, { recursive: true }));

const newRoot = (): string => join(root, String(next++));

function open(directory: string, options: Partial<CheckpointerOptions> = {}): Promise<Checkpointer> {
  return Checkpointer.open({ directory, identity: {}, engine: { fingerprint: "engine 1" }, ...options });
}

async function finish(checkpointer: Checkpointer, step: number): Promise<void> {
  await checkpointer.afterStep({ step, groups: hostState(step).groups, state: null }, { force: true });
  await checkpointer.settle();
}

async function restored(checkpointer: Checkpointer): Promise<{ step: number; values: number[] }> {
  const newest = await checkpointer.newest();
  if (newest === undefined) throw new Error("no checkpoint");
  const target = hostState(1000);
  await checkpointer.restore(newest, target);
  return { step: newest.metadata.step, values: await target.values() };
}

describe("crash-safe checkpoint: one that cannot be finished", () => {
  it("leaves the newest one whole, and never an older one than was there, after a crash at any file operation", async () => {
    const start = newRoot();
    await finish(await open(start), 1);
    let point = 0;
    for (let finished = false; !finished; point++) {
      const path = `${start}-crash-${String(point)}`;
      await cp(start, path, { recursive: true });
      const checkpointer = await open(path, { keepPermanent: 1, maxFileBytes: 24 });
      const { error } = await withFault({ after: point, mode: "crash" }, () => finish(checkpointer, 2));
      finished = error === undefined;
      // What was renamed into place is the newest, whatever came after.
      const step = (await readdir(path)).includes("step-00000002") ? 2 : 1;
      expect(await restored(await open(path))).toEqual({ step, values: await hostState(step).values() });
      // Whatever is left, the next attempt succeeds and cleans up what shows.
      await finish(await open(path, { keepPermanent: 1 }), 3);
      expect((await readdir(path)).filter((name) => !name.endsWith(".tmp"))).toEqual(["step-00000003"]);
    }
    expect(point).toBeGreaterThanOrEqual(30);
  });

  it("leaves the newest one whole when its process is killed", async () => {
    const start = newRoot();
    await finish(await open(start), 1);
    let kills = 0;
    for (let finished = false; !finished; ) {
      const path = `${start}-killed-${String(kills)}`;
      await cp(start, path, { recursive: true });
      const child = spawnSync(process.execPath, ["--conditions=@marin/source", "--import", "tsx", CHILD, path, "2", String(KILL_STRIDE * kills)], { encoding: "utf8" });
      finished = child.status === 0;
      if (!finished) expect(child.signal, child.stderr).toBe("SIGKILL");
      const step = (await readdir(path)).includes("step-00000002") ? 2 : 1;
      expect(await restored(await open(path))).toEqual({ step, values: await hostState(step).values() });
      if (!finished) kills += 1;
    }
    expect(kills * KILL_STRIDE).toBeGreaterThanOrEqual(30);
  });

  it("leaves nothing behind when the disk is full, and says so", async () => {
    const path = newRoot();
    await mkdir(path);
    const checkpointer = await open(path);
    await finish(checkpointer, 1);
    let point = 0;
    for (let finished = false; !finished; point++) {
      const { error } = await withFault({ after: point, mode: "once" }, () => finish(checkpointer, 2));
      finished = error === undefined;
      if (finished) break;
      expect(error).toMatchObject({ code: "RIGGING_DISK_FULL" });
      const visible = (await readdir(path)).filter((name) => !name.startsWith("."));
      // Only the flush of the parent after the rename can fail with the new checkpoint in place; it is whole then.
      expect(["step-00000001", "step-00000001,step-00000002"]).toContain(visible.join());
      expect((await restored(await open(path))).step).toBe(visible.length);
      await rm(join(path, "step-00000002"), { recursive: true, force: true });
    }
    expect(point).toBeGreaterThan(15);
  });
});
