import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

import { runCommand } from "./command.js";

const scripts = fileURLToPath(new URL("../../test/experiments", import.meta.url));

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-command-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Calls the command in this process, where it starts faster than in one of its own. */
async function run(args: readonly string[]): Promise<Finished> {
  const text = { stdout: "", stderr: "" };
  const into = (name: keyof typeof text): Writable =>
    new Writable({
      write(chunk, _encoding, done) {
        text[name] += String(chunk);
        done();
      },
    });
  const code = await runCommand(["--experiments", scripts, ...args], {
    stdout: into("stdout"),
    stderr: into("stderr"),
    workingDirectory: scripts,
    interactive: false,
    color: false,
    watchParent: false,
    exit: () => undefined,
  });
  return { code, ...text };
}

function eventsOf({ stdout }: Finished): unknown[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line): unknown => JSON.parse(line));
}

describe("runCommand", { timeout: 60_000 }, () => {
  it.each([
    [["to"], "did you mean toy?"],
    [["toy", "--jsn"], "did you mean --json?"],
    [["toy", "--sum.factor=2"], "--set sum.factor=value"],
    [["toy", "--set", "sum.facter=2"], "did you mean sum.factor?"],
    [["toy", "--set", "numbers.count=some"], 'expected integer from 1, got "some"'],
    [["toy", "other"], "one experiment a run: got toy other"],
    [[], "--list"],
    [["toy", "--prefix", ""], "--prefix needs a folder"],
    [["toy", "--max-concurrent", "0"], "a whole number from 1 is needed"],
    [["toy", "--run-only", ","], "name at least one step"],
    [["toy", "--force", "smu"], "did you mean sum?"],
  ])("explains wrong usage %j and exits with 2", async (args, message) => {
    const plain = await run(args);
    expect(plain.code).toBe(2);
    expect(plain.stdout).toBe("");
    expect(plain.stderr).toContain(message);
    const json = await run([...args, "--json"]);
    expect(json.code).toBe(2);
    expect(eventsOf(json)).toMatchObject([{ event: "error", exitCode: 2, message: expect.stringContaining(message) as string }]);
  });

  it("lists experiments, and says which scripts cannot be loaded", async () => {
    const { code, stdout, stderr } = await run(["--list"]);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^greeting +A program: it exports nothing and runs when it is imported\.\nqueue +Two steps that ask for the whole machine\.\nstubborn +Does not stop when told\.\ntoy +Adds up numbers\.\nunruly +Does what a step should not\.\n$/);
    expect(stderr).toMatch(/broken\.ts cannot be loaded: this script cannot be loaded/);
  });

  it("describes every option of an experiment in --help", async () => {
    const { code, stdout } = await run(["toy", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toContain("sum.factor  <number>  (default 1, twice: 2)\n      What each number is multiplied by.");
    expect(stdout).toContain("--prefix <folder>");
    const [help] = eventsOf(await run(["toy", "--help", "--json"]));
    expect(help).toMatchObject({ event: "help", experiment: "toy", options: expect.arrayContaining([expect.objectContaining({ path: "numbers.count", default: 4 })]) as unknown });
  });

  it("says of a program what it does and where its values are, and takes no options for it", async () => {
    const { code, stdout } = await run(["greeting", "--help"]);
    expect(code).toBe(0);
    expect(stdout).toMatch(/^pnpm experiment greeting\n\nA program: .*\n\ngreeting is a program and takes no options: change the values in .*greeting\.ts\n$/);
    expect(eventsOf(await run(["greeting", "--help", "--json"]))).toMatchObject([{ event: "help", program: "greeting" }]);
    expect((await run(["greeting", "--dry-run"])).code).toBe(2);
  });

  it.each([
    ["reject", "MARIN_UNEXPECTED", "nobody waits for this"],
    ["throw-later", "MARIN_UNEXPECTED", "nobody catches this"],
    ["stall", "MARIN_STALLED", "nothing is left to settle"],
    ["throw-nothing", "MARIN_UNEXPECTED", "undefined"],
    ["bad-data", "TOY_BAD", "with data"],
    ["map", "MARIN_STEP_RESULT", "counts must be a plain JSON value"],
    ["nan", "MARIN_STEP_RESULT", "loss must be a plain JSON value"],
    ["die", "IRIS_TASK_EXITED", "SIGKILL"],
    ["exit", "IRIS_TASK_EXITED", "3"],
  ])("ends with one error event when a step does this: %s", async (how, code, message) => {
    const finished = await run(["unruly", "--json", "--prefix", join(directory, "store"), "--set", `how=${how}`]);
    const { code: exitCode, stderr } = finished;
    const events = (eventsOf(finished) as { readonly event: string }[]).filter(({ event }) => event !== "job");
    expect(exitCode).toBe(1);
    expect(events.map(({ event }) => event).filter((event) => event !== "output")).toEqual(["run-started", "step-started", "error"]);
    expect(events.at(-1)).toMatchObject({ code, step: "misbehave", message: expect.stringContaining(message) as string });
    expect(stderr).toMatch(/^error: step misbehave: .*\n$/);
  });

  it("refuses a step that asks for more than the cluster has, naming what and how much", async () => {
    const finished = await run(["unruly", "--json", "--prefix", join(directory, "store"), "--set", "how=greedy"]);
    const event = eventsOf(finished).at(-1) as { readonly message: string };
    expect(finished.code).toBe(1);
    expect(event).toMatchObject({ event: "error", code: "IRIS_UNSCHEDULABLE", step: "misbehave" });
    expect(event.message).toMatch(/cpu.*4096/);
  });

  it("says in a dry run what would run, why and where, and writes nothing", async () => {
    const args = ["toy", "--prefix", join(directory, "store"), "--dry-run"];
    const { code, stdout } = await run([...args, "--run-only", "sum"]);
    expect(code).toBe(0);
    expect(stdout.replaceAll(/ {2,}/g, " | ")).toMatch(/numbers \| would run \| no artifact \| local, 1 cpu \| .*\nsum \| would run \| input numbers would run \| local, 1 cpu \| /);
    expect(eventsOf(await run([...args, "--json"]))).toMatchObject([{ event: "plan", cluster: "local", steps: [{ step: "numbers", action: "run", reason: "no artifact" }, { step: "sum" }, { step: "average" }] }]);
    expect(await readdir(directory)).toEqual([]);
    await expect(run([...args, "--cluster", "nowhere", "--json"]).then(eventsOf)).resolves.toMatchObject([{ event: "error", code: "IRIS_CLUSTER_UNKNOWN", message: expect.stringContaining("nowhere.json") as string }]);
  });
});
