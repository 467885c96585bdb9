import { execFileSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { openStorage, type Storage } from "../platform.js";
import { captureOutputs } from "./capture.js";

let directory: string;
let outputs: string;
let storage: Storage;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-outputs-"));
  outputs = join(directory, "outputs");
  await mkdir(join(outputs, "plots"), { recursive: true });
  storage = openStorage(join(directory, "kept"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

const kept = async (): Promise<string[]> => readdir(join(directory, "kept")).catch(() => []);

describe("captureOutputs", () => {
  it("keeps all of an attempt's files, as tar reads them", async () => {
    await writeFile(join(outputs, "metrics.json"), "{}");
    await writeFile(join(outputs, "plots", "loss.svg"), "<svg/>");
    await symlink("metrics.json", join(outputs, "latest"));
    await symlink("/etc/passwd", join(outputs, "out"));
    const capture = await captureOutputs({ directory: outputs, storage, path: "u1.tar.gz" });
    expect(capture).toEqual({ kind: "archived", path: "u1.tar.gz", files: 3, bytes: 8, skipped: [{ path: "out", reason: "a link to an absolute path" }] });
    const back = join(directory, "back");
    await mkdir(back);
    execFileSync("tar", ["-xzf", join(directory, "kept", "u1.tar.gz")], { cwd: back });
    expect((await readdir(back, { recursive: true })).sort()).toEqual(["latest", "metrics.json", "plots", "plots/loss.svg"]);
    expect(await readFile(join(back, "latest"), "utf8")).toBe("{}");
  });

  it("keeps nothing of an attempt that wrote nothing", async () => {
    await rm(join(outputs, "plots"), { recursive: true });
    expect(await captureOutputs({ directory: outputs, storage, path: "u1.tar.gz" })).toEqual({ kind: "none" });
    expect(await captureOutputs({ directory: join(directory, "missing"), storage, path: "u1.tar.gz" })).toEqual({ kind: "none" });
    expect(await kept()).toEqual([]);
  });

  it.each([
    [{ maxBytes: 9 }, "are larger than 9B"],
    [{ maxEntries: 1 }, "are more than 1 files"],
  ])("tells of outputs beyond %j, and keeps nothing", async (limits, problem) => {
    await writeFile(join(outputs, "a"), "12345");
    await writeFile(join(outputs, "b"), "12345");
    const capture = await captureOutputs({ directory: outputs, storage, path: "u1.tar.gz", limits });
    expect(capture).toMatchObject({ kind: "failed", code: "IRIS_OUTPUTS_TOO_LARGE", message: expect.stringContaining(problem) as string });
    expect(await kept()).toEqual([]);
  });

  it("gives up on a storage that never answers, after its time or when told to", async () => {
    await writeFile(join(outputs, "a"), "a");
    const hanging: Storage = { ...storage, write: () => new Promise<void>(() => undefined) };
    const late = await captureOutputs({ directory: outputs, storage: hanging, path: "u1.tar.gz", limits: { timeoutMs: 20 } });
    expect(late).toMatchObject({ kind: "failed", code: "IRIS_OUTPUTS_TOO_LARGE", message: expect.stringContaining("took longer") as string });
    const stopped = await captureOutputs({ directory: outputs, storage: hanging, path: "u1.tar.gz", signal: AbortSignal.timeout(20) });
    expect(stopped).toMatchObject({ kind: "failed", code: "IRIS_OUTPUTS_FAILED" });
  });

  it("tells of a storage that fails, of an archive that is there already, and of a directory that is none", async () => {
    await writeFile(join(outputs, "a"), "a");
    await storage.write("taken.tar.gz", "earlier");
    expect(await captureOutputs({ directory: outputs, storage, path: "taken.tar.gz" })).toMatchObject({ kind: "failed", code: "RIGGING_EXISTS" });
    expect(await captureOutputs({ directory: outputs, storage, path: "../x" })).toMatchObject({ kind: "failed", code: "RIGGING_BAD_PATH" });
    expect(await captureOutputs({ directory: join(outputs, "a"), storage, path: "u1.tar.gz" })).toMatchObject({ kind: "failed" });
    expect(await readFile(join(directory, "kept", "taken.tar.gz"), "utf8")).toBe("earlier");
  });
});
