import { Writable } from "node:stream";
import { fileURLToPath } from "node:url";

import { describe, expect, it } from "vitest";

import { runCommand } from "./command.js";

const scripts = fileURLToPath(new URL("../../test/experiments", import.meta.url));

interface Finished {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

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

describe("runCommand", () => {
  it.each([
    [["to"], "did you mean toy?"],
    [["toy", "--jsn"], "did you mean --json?"],
    [["toy", "--sum.factor=2"], "--set sum.factor=value"],
    [["toy", "--set", "sum.facter=2"], "did you mean sum.factor?"],
    [["toy", "--set", "numbers.count=some"], 'expected integer from 1, got "some"'],
    [["toy", "other"], "one experiment a run: got toy other"],
    [[], "--list"],
    [["toy", "--prefix", ""], "--prefix needs a folder"],
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
    expect(stdout).toMatch(/^stubborn +Does not stop when told\.\ntoy +Adds up numbers\.\nunruly +Does what a step should not\.\n$/);
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
});
