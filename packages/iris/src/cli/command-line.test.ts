import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type Finished, type Running, startCli } from "../../test/cli-run.js";
import { openLocal } from "../controller/local.js";
import { type IrisServer, startIrisServer } from "../server/server.js";

let directory: string;
let server: IrisServer;
let closeController: () => Promise<void>;
beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "iris-cli-"));
  const { api, close } = await openLocal({ name: "local", capacity: { cpu: 4, memoryBytes: 8 * 2 ** 30, diskBytes: 0 }, directory: undefined });
  closeController = close;
  server = await startIrisServer({ api: () => api });
});
afterAll(async () => {
  await server.close();
  await closeController();
  await rm(directory, { recursive: true, force: true });
});

const start = (args: readonly string[], variables: Record<string, string> = {}): Running => startCli(args, { directory, variables: { IRIS_CONTROLLER: server.url, ...variables } });
const run = (args: readonly string[], variables?: Record<string, string>): Promise<Finished> => start(args, variables).finished;
const node = (code: string): string[] => ["--", process.execPath, "-e", code];

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

  it("run takes a function, its arguments, and variables of the command's own", async () => {
    await writeFile(join(directory, "task.mjs"), "export const add = (a, b) => console.log(a + b, process.env.GREETING, process.env.SHORT);\n");
    const done = await run(["run", "--entry", "task.mjs#add", "--args", "[1, 2]", "--pass-env", "GREETING", "--env", "SHORT=a=b"], { GREETING: "hello" });
    expect(done).toMatchObject({ code: 0, stdout: "3 hello a=b\n" });
  });

  it("what can never run is refused at once, with the nearest that could", async () => {
    const refused = await run(["run", "--name", "greedy", "--cpu", "4096", "--", "true"]);
    expect(refused.code).toBe(3);
    expect(refused.stderr).toMatch(/UNSCHEDULABLE.*cpu 4096.*4/);
  });

  it("Ctrl-C cancels what run runs and waits for its end; a second one leaves, and says what remains", async () => {
    const running = start(["run", "--name", "long", ...node("console.log('up'); setInterval(() => {}, 1000)")]);
    await expect.poll(() => running.written().stdout, { timeout: 30_000 }).toContain("up");
    running.interrupt();
    const finished = await running.finished;
    expect(finished).toMatchObject({ code: 130, stdout: "up\n" });
    expect(finished.stderr).toMatch(/stopping \/long; once more.*\/long: KILLED/s);
    expect((await run(["describe", "/long"])).stdout).toMatch(/cancelled by .*Ctrl-C/);

    const stubborn = start(["run", "--name", "stubborn", ...node("process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)")]);
    await expect.poll(() => stubborn.written().stdout, { timeout: 30_000 }).toContain("up");
    stubborn.interrupt();
    // The same press, passed on by a package manager, counts once; a later one leaves.
    stubborn.interrupt();
    await new Promise((resolve) => setTimeout(resolve, 600));
    stubborn.interrupt();
    const left = await stubborn.finished;
    expect(left.code).toBe(130);
    expect(left.stderr).toContain("iris describe /stubborn shows what remains");
    expect((await run(["stop", "/stubborn"])).stdout).toBe("/stubborn: KILLED\n");
  });

  it("submit, list, describe, logs -f, exec, stop: a job's life from other terminals", async () => {
    const submitted = await run(["submit", "--name", "server", "--replicas", "2", ...node("console.log('ready', process.pid); setInterval(() => {}, 1000)")]);
    expect(submitted).toMatchObject({ code: 0, stdout: "/server\n" });
    const following = start(["logs", "-f", "/server", "--contains", "ready"]);
    await expect.poll(() => following.written().stdout.trim().split("\n").length, { timeout: 30_000 }).toBe(2);
    expect((await run(["list", "--state", "RUNNING"])).stdout).toMatch(/^JOB .*\n\/server +RUNNING +2 running/);
    expect((await run(["list", "--json", "--prefix", "/server"])).events()).toMatchObject([{ event: "job", id: "/server", state: "RUNNING" }]);
    const described = (await run(["describe", "/server", "--json"])).events()[0] as { status: { tasks: { pid: number }[] }; description: { command: string[] } };
    expect(described.description.command[0]).toBe(process.execPath);
    const executed = await run(["exec", "/server", "--task", "1", ...node("console.log('beside'); process.exit(9)")]);
    expect(executed).toMatchObject({ code: 9, stdout: "beside\n" });
    expect((await run(["workers"])).stdout).toMatch(/local +reachable +2 \/ 4/);
    expect((await run(["top", "--count", "1"])).stdout).toContain("/server");
    following.interrupt();
    expect(await following.finished).toMatchObject({ code: 130, stderr: expect.stringContaining("which goes on") as string });
    const second = start(["logs", "-f", "/server"]);
    const stopped = await run(["stop", "/server", "--reason", "enough"]);
    expect(stopped).toMatchObject({ code: 0, stdout: "/server: KILLED\n" });
    // A follower ends with the job.
    expect((await second.finished).code).toBe(0);
    expect((await run(["logs", "/server", "--tail", "1", "--json"])).events()).toHaveLength(1);
    expect((await run(["describe", "/server"])).stdout).toMatch(/cancelled by .*enough/);
  });

  it("exit codes tell what is missing from what failed", async () => {
    for (const args of [["describe", "/nothing"], ["logs", "/nothing"], ["stop", "/nothing"], ["exec", "/nothing", "--", "true"], ["bug-report", "/nothing"]]) expect((await run(args)).code, args.join(" ")).toBe(4);
    const dead = await run(["list", "--controller", "http://127.0.0.1:9"]);
    expect(dead.code).toBe(5);
    await mkdir(join(directory, "empty"), { recursive: true });
    const none = await startCli(["stop", "/a", "--dir", "empty"], { directory }).finished;
    expect(none.code).toBe(5);
    expect(none.stderr).toContain("start one with `iris controller --dir");
  });

  it("bug-report writes one file without secrets, and budget sets and shows", async () => {
    const secret = "hunter2-in-the-environment";
    await run(["run", "--name", "leaky", "--pass-env", "MY_API_TOKEN", ...node("console.log('token is', process.env.MY_API_TOKEN); process.exit(1)")], { MY_API_TOKEN: secret });
    const report = await run(["bug-report", "/leaky", "--output", "report.json"], { MY_API_TOKEN: secret });
    expect(report.code).toBe(0);
    const text = await readFile(join(directory, "report.json"), "utf8");
    expect(text).not.toContain(secret);
    expect(JSON.parse(text)).toMatchObject({ job: { id: "/leaky", state: "FAILED" }, description: { envNames: expect.arrayContaining(["MY_API_TOKEN"]) as unknown }, workers: [{ name: "local" }] });
    expect((await run(["budget", "ada", "5000"])).stdout).toMatch(/ada +0 +5000/);
    expect((await run(["budget", "ada", "none", "--json"])).code).toBe(0);
  });
});
