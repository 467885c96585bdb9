import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { plan, submit, submitLocally } from "../test/overview.js";
import { canFindProcesses, MARK, untilNoneIsLeft } from "../test/processes.js";

const script = fileURLToPath(new URL("ten-lines.ts", import.meta.url));

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-ten-lines-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Runs the script as it stands, with the user in an empty directory. */
function run(mark: string): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", import.meta.resolve("tsx"), script], { cwd: directory, env: { ...process.env, [MARK]: mark } });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) child[name].setEncoding("utf8").on("data", (chunk: string) => (text[name] += chunk));
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      resolve({ code, ...text });
    });
  });
}

describe("ten-lines", () => {
  it("trains, prints final state and loss, and leaves no process behind", { timeout: 120_000 }, async () => {
    const mark = randomUUID();
    const { code, stdout, stderr } = await run(mark);
    expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
    expect(stdout).toMatch(/^SUCCEEDED \{\n {2}steps: 200,\n {2}loss: \d\.\d+,/);
    // A vocabulary of 512 by chance: ln 512 = 6.24.
    expect(Number(/loss: ([\d.]+)/.exec(stdout)?.[1])).toBeLessThan(5.5);
    if (canFindProcesses) await untilNoneIsLeft(mark);
  });

  it("has the form of the overview's program", async () => {
    const form = (source: string): string[] => source.split("\n").filter((line) => /^(const cfg|const trainer|const scheduler|const experiment)/.test(line)).map((line) => line.replace(/\(.*/, "("));
    const lines = form(await readFile(script, "utf8"));
    expect(lines).toEqual(form(await readFile(new URL("../test/overview.ts", import.meta.url), "utf8")));
    expect(lines).toHaveLength(4);
  });
});

describe("the overview's program, unchanged", () => {
  it("plans, and is refused at submission, which names the file to write", async () => {
    expect(await plan()).toMatchObject({ cluster: "tpu-v4", runnable: false, job: { name: "gpt2_small_demo" }, problem: expect.stringContaining("tpu-v4.json") as string });
    await expect(submit()).rejects.toMatchObject({ code: "IRIS_CLUSTER_UNKNOWN", message: expect.stringContaining("tpu-v4.json") as string });
  });

  it("ends with what to give instead of a corpus that would have to be downloaded", { timeout: 60_000 }, async () => {
    const { state, error } = await (await submitLocally()).wait();
    expect(state).toBe("FAILED");
    expect(error).toMatchObject({ code: "MARIN_DATASET_UNAVAILABLE", message: expect.stringContaining("give a folder of texts") as string });
  });
});
