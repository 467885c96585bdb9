import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliController, cliController, node } from "../../test/cli-controller.js";
import { type Finished, startCli } from "../../test/cli-run.js";

let cli: CliController;
let directory: string;
beforeAll(async () => {
  cli = await cliController();
  ({ directory } = cli);
});
afterAll(() => cli[Symbol.asyncDispose]());

const run = (args: readonly string[], variables?: Record<string, string>): Promise<Finished> => cli.run(args, variables);

describe("wrong usage", () => {
  it.each<[readonly string[], string]>([
    [["lsit"], "iris has no command lsit: did you mean list?"],
    [["frobnicate"], "it has run, submit, list"],
    [["list", "--jsno"], "iris list has no flag --jsno: did you mean --json?"],
    [["run", "--replcas", "2", "--", "true"], "did you mean --replicas?"],
    [["run", "python", "--lr", "3"], "what belongs to the job's own command stands behind --"],
    [["run"], "name what to run"],
    [["run", "--entry", "a.ts", "--", "true"], "a command or an --entry"],
    [["run", "--entry", "a.ts"], "a file and an export"],
    [["run", "--args", "[1]", "--", "true"], "--args are those of an --entry"],
    [["run", "--entry", "a.ts#b", "--args", "{}"], "a JSON list"],
    [["run", "--cpu", "two", "--", "true"], "2 or 0.5"],
    [["run", "--memory", "lots", "--", "true"], "--memory"],
    [["run", "--device", "gpu:0", "--", "true"], "KIND[:VARIANT][:COUNT]"],
    [["run", "--constraint", "=x", "--", "true"], "a condition on an attribute"],
    [["run", "--env", "TOKEN", "--", "true"], "NAME=VALUE"],
    [["run", "--pass-env", "NOT_THERE", "--", "true"], "no such variable"],
    [["run", "--band", "URGENT", "--", "true"], "PRODUCTION"],
    [["logs"], "missing required argument 'job'"],
    [["logs", "/a", "/b"], "too many arguments"],
    [["exec", "/a"], "name the command behind --"],
    [["budget", "ada"], "name the amount"],
    [["budget", "ada", "much"], "a number or none"],
    [["list", "--controller", "head:7733"], "http://head:7733"],
    [["list", "--controller", "http://x", "--dir", "y"], "not by both"],
    [["worker", "--dir", "y"], "name the controller"],
    [["key", "create"], "name whom the key is for"],
    [["key", "create", "ada", "--scope", "Everything"], "is not a scope"],
    [["key", "create", "ada/where"], "is no user's name"],
    [[], "Usage: iris"],
  ])("%j exits with 2 and says what would be right", async (args, message) => {
    const own = args[0] === "worker" ? startCli(args, { directory }).finished : run(args);
    const plain = await own;
    expect(plain.stderr).toContain(message);
    expect(plain).toMatchObject({ code: 2, stdout: "" });
    if (args.length === 0 || args[0] === "worker") return;
    const json = await run([args[0] as string, "--json", ...args.slice(1)]);
    expect(json.events()).toMatchObject([{ event: "error", code: "IRIS_USAGE", exitCode: 2, message: expect.stringContaining(message) as string }]);
  });

  it("a job that cannot be is a wrong call as well; an id without its slash is recognized", async () => {
    expect(await run(["run", "--name", "Two Words", "--", "true"])).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining("lower-case words") as string });
    await run(["submit", "--name", "slashed", "--cpu", "99999", "--", "true"]);
    expect(await run(["logs", "slashed"])).toMatchObject({ code: 4, stderr: expect.stringContaining("Did you mean /slashed?") as string });
  });

  it("--help tells of every command, and of each its flags", async () => {
    const { code, stdout } = await run(["--help"]);
    expect(code).toBe(0);
    for (const name of ["run", "submit", "list", "describe", "logs", "stop", "exec", "workers", "top", "bug-report", "budget", "query", "key", "controller", "worker"]) {
      expect(stdout).toMatch(new RegExp(`^ {2}${name} `, "m"));
      const help = await run([name, "--help"]);
      expect(help.code).toBe(0);
      expect(help.stdout).toContain("--json");
    }
  });
});

describe("jobs", { timeout: 60_000 }, () => {
  it("run shows what a job prints, and ends as it ends", async () => {
    const good = await run(["run", "--name", "good", ...node("console.log('out'); console.error('err')")]);
    expect(good).toMatchObject({ code: 0, stdout: "out\n" });
    expect(good.stderr).toMatch(/submitted \/good to http.*\nerr\n|err\n/s);
    expect(good.stderr).toMatch(/\/good: SUCCEEDED\n$/);
    const bad = await run(["run", "--name", "bad", ...node("process.exit(7)")]);
    expect(bad.code).toBe(3);
    expect(bad.stderr).toMatch(/\/bad: FAILED: .*7/);
    const json = await run(["run", "--json", "--name", "good", ...node("console.log('{}')")]);
    const events = json.events();
    expect(events[0]).toMatchObject({ event: "submitted", job: "/good" });
    expect(events.filter(({ event }) => event === "log")).toMatchObject([{ source: "stdout", message: "{}" }]);
    expect(events.at(-1)).toMatchObject({ event: "ended", job: "/good", state: "SUCCEEDED" });
  });

  it("what can never run is refused at once, with the nearest that could", async () => {
    const refused = await run(["run", "--name", "greedy", "--cpu", "4096", "--", "true"]);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/UNSCHEDULABLE.*cpu 4096.*4/);
  });

  it("exit codes tell what is missing from what failed", async () => {
    for (const args of [["describe", "/nothing"], ["logs", "/nothing"], ["stop", "/nothing"], ["exec", "/nothing", "--", "true"], ["bug-report", "/nothing"]]) expect((await run(args)).code, args.join(" ")).toBe(4);
    const dead = await run(["list", "--controller", "http://127.0.0.1:9"]);
    expect(dead.code).toBe(5);
    await mkdir(join(directory, "empty"), { recursive: true });
    const none = await startCli(["stop", "/a", "--dir", "empty"], { directory }).finished;
    expect(none.code).toBe(5);
    expect(none.stderr).toContain("start one with `iris controller --dir");
    const looked = await startCli(["list", "--dir", "nowhere"], { directory }).finished;
    expect(looked).toMatchObject({ code: 5, stdout: "", stderr: expect.stringContaining("no controller has run on it") as string });
    expect(await readdir(directory)).not.toContain("nowhere");
  });
});
