import { spawn } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { type CliController, cliController, node } from "../../test/cli-controller.js";
import type { Finished, Running } from "../../test/cli-run.js";

let cli: CliController;
let directory: string;
beforeAll(async () => {
  cli = await cliController();
  ({ directory } = cli);
});
afterAll(() => cli[Symbol.asyncDispose]());

const start = (args: readonly string[]): Running => cli.start(args);
const run = (args: readonly string[], variables?: Record<string, string>): Promise<Finished> => cli.run(args, variables);

describe("jobs", { timeout: 300_000 }, () => {
  it("run takes a function, its arguments, and variables of the command's own", async () => {
    await writeFile(join(directory, "task.mjs"), "export const add = (a, b) => console.log(a + b, process.env.GREETING, process.env.SHORT);\n");
    const done = await run(["run", "--entry", "task.mjs#add", "--args", "[1, 2]", "--pass-env", "GREETING", "--env", "SHORT=a=b"], { GREETING: "hello" });
    expect(done).toMatchObject({ code: 0, stdout: "3 hello a=b\n" });
  });

  it("Ctrl-C cancels what run runs and waits for its end; a second one leaves, and says what remains", async () => {
    const running = start(["run", "--name", "long", ...node("console.log('up'); setInterval(() => {}, 1000)")]);
    await expect.poll(() => running.written().stdout, { timeout: 120_000 }).toContain("up");
    running.interrupt();
    const finished = await running.finished;
    expect(finished).toMatchObject({ code: 130, stdout: "up\n" });
    expect(finished.stderr).toMatch(/stopping \/long; once more.*\/long: KILLED/s);
    expect((await run(["describe", "/long"])).stdout).toMatch(/cancelled by .*Ctrl-C/);

    const stubborn = start(["run", "--name", "stubborn", ...node("process.on('SIGTERM', () => {}); console.log('up'); setInterval(() => {}, 1000)")]);
    await expect.poll(() => stubborn.written().stdout, { timeout: 120_000 }).toContain("up");
    stubborn.interrupt();
    // The same press, passed on by a package manager, counts once; a later one leaves.
    stubborn.interrupt();
    let left: Finished | undefined;
    void stubborn.finished.then((finished) => (left = finished));
    await expect.poll(() => (stubborn.interrupt(), left?.code), { timeout: 60_000, interval: 100 }).toBe(130);
    expect(left?.stderr).toContain("iris describe /stubborn shows what remains");
    expect((await run(["stop", "/stubborn"])).stdout).toBe("/stubborn: KILLED\n");
  });

  it("a reader that goes away is no success: run cancels its job, and what only shows ends", async () => {
    const { url } = cli;
    const withoutReader = async (args: readonly string[]): Promise<number | null> => {
      const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", import.meta.resolve("tsx"), fileURLToPath(new URL("main.ts", import.meta.url)), ...args], { cwd: directory, env: { ...process.env, IRIS_CONTROLLER: url }, stdio: ["ignore", "pipe", "ignore"] });
      child.stdout.once("data", () => child.stdout.destroy());
      return new Promise((resolve) => child.once("exit", resolve));
    };
    expect(await withoutReader(["run", "--name", "unread", ...node("setInterval(() => console.log('x'.repeat(1000)), 5)")])).toBe(141);
    expect((await run(["describe", "/unread", "--json"])).stdout).toContain('"KILLED"');
    expect((await run(["submit", "--name", "shown", ...node("setInterval(() => console.log('x'.repeat(1000)), 5)")])).code).toBe(0);
    expect(await withoutReader(["logs", "-f", "/shown"])).toBe(141);
    expect((await run(["stop", "/shown"])).stdout).toBe("/shown: KILLED\n");
  });

  it("submit, list, describe, logs -f, exec, stop: a job's life from other terminals", async () => {
    const submitted = await run(["submit", "--name", "server", "--replicas", "2", ...node("console.log('ready', process.pid); setInterval(() => {}, 1000)")]);
    expect(submitted).toMatchObject({ code: 0, stdout: "/server\n" });
    const following = start(["logs", "-f", "/server", "--contains", "ready"]);
    await expect.poll(() => following.written().stdout.trim().split("\n").length, { timeout: 120_000 }).toBe(2);
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
