import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { afterEach, beforeEach, describe, expect, it } from "vitest";

const main = fileURLToPath(new URL("main.ts", import.meta.url));
const loader = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
const scripts = fileURLToPath(new URL("../../test/experiments", import.meta.url));

interface Finished {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Event {
  readonly event: string;
  readonly step?: string;
  readonly cached?: boolean;
  readonly message?: string;
  readonly resumed?: boolean;
  readonly code?: string;
  readonly exitCode?: number;
  readonly results?: Readonly<Record<string, unknown>>;
}

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "marin-command-"));
});
afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** Runs the real command; `onLine` sees each line of standard output or error as it comes. */
function experiment(args: readonly string[], onLine: (line: string, kill: (signal: NodeJS.Signals) => void) => void = () => undefined): Promise<Finished> {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", loader, main, "--experiments", scripts, ...args], {
    cwd: directory,
    env: { ...process.env, npm_lifecycle_event: "" },
  });
  const text = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    let rest = "";
    child[name].setEncoding("utf8").on("data", (chunk: string) => {
      text[name] += chunk;
      const lines = (rest + chunk).split("\n");
      rest = lines.pop() ?? "";
      for (const line of lines) onLine(line, (signal) => child.kill(signal));
    });
  }
  return new Promise((resolve, reject) => {
    child.on("error", reject).on("close", (code) => {
      resolve({ code, ...text });
    });
  });
}

function eventsOf({ stdout }: Finished): Event[] {
  return stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Event);
}

function ran(events: readonly Event[]): string[] {
  return events.filter(({ event, cached }) => event === "step-finished" && cached === false).map(({ step }) => step ?? "");
}

describe("pnpm experiment", { timeout: 120_000 }, () => {
  it("prints results on standard output and everything else on standard error", async () => {
    const { code, stdout, stderr } = await experiment(["toy"]);
    expect({ code, stdout }).toEqual({ code: 0, stdout: "sum: 10\naverage: 2.5\n" });
    expect(stderr).toMatch(/numbers: starts\nnumbers: counting for toy\nnumbers: done/);
    expect(await readdir(join(directory, ".marin"))).toEqual(["average", "finestore.json", "numbers", "runs", "sum"]);
  });

  it("runs a step again only when something that decides it has changed", async () => {
    const all = eventsOf(await experiment(["toy", "--json"]));
    expect(all.map(({ event }) => event)).toContain("metrics");
    expect(ran(all)).toEqual(["numbers", "sum", "average"]);
    expect(all.at(-1)).toMatchObject({ event: "result", results: { sum: { sum: 10 }, average: { average: 2.5 } } });
    expect(ran(eventsOf(await experiment(["toy", "--json", "--set", "numbers.label=other", "--set", "sum.pauseMs=1"])))).toEqual([]);
    expect(ran(eventsOf(await experiment(["toy", "--json", "--set", "sum.factor=2"])))).toEqual(["sum", "average"]);
    expect(ran(eventsOf(await experiment(["toy", "--json", "--set", "sum.preset=twice"])))).toEqual([]);
  });

  it("stops on SIGINT and on SIGTERM within five seconds with 130, and continues where it stopped", async () => {
    const args = ["toy", "--json", "--set", "numbers.count=500", "--set", "sum.pauseMs=20"];
    for (const signal of ["SIGINT", "SIGTERM"] as const) {
      let sent = 0;
      const stopped = await experiment(args, (line, kill) => {
        if (sent > 0 || !line.includes('"progress"') || !line.includes('"sum"') || line.includes('"done":1,')) return;
        sent = performance.now();
        kill(signal);
      });
      expect(performance.now() - sent).toBeLessThan(5000);
      expect([signal, stopped.code]).toEqual([signal, 130]);
      const events = eventsOf(stopped);
      expect(events.at(-1)).toMatchObject({ event: "error", code: "MARIN_INTERRUPTED", step: "sum", exitCode: 130 });
      expect(events.at(-1)?.message).toContain("run the same command again to continue");
      expect(events.find(({ event }) => event === "step-started")).toMatchObject(signal === "SIGINT" ? { step: "numbers" } : { step: "sum", resumed: true });
    }

    const continued = await experiment([...args.slice(0, -1), "sum.pauseMs=0"]);
    expect(continued.code).toBe(0);
    const again = eventsOf(continued);
    expect(again.find(({ event }) => event === "step-started")).toMatchObject({ step: "sum", resumed: true });
    const from = Number(again.find(({ event }) => event === "message")?.message?.replace("from ", ""));
    expect(from).toBeGreaterThan(2);
    expect(again.at(-1)?.results).toMatchObject({ sum: { sum: (500 * 501) / 2 } });
  });

  it("names the step that was interrupted, not one that still waited", async () => {
    const { code, stderr } = await experiment(["queue"], (line, kill) => {
      if (line.startsWith("queued: waits for cpu")) kill("SIGINT");
    });
    expect({ code, interrupted: /interrupted in step \w+/.exec(stderr)?.[0] }).toEqual({ code: 130, interrupted: "interrupted in step working" });
  });

  it("leaves at once on a second SIGINT", async () => {
    let stops = 0;
    const { code, stderr } = await experiment(["stubborn"], (line, kill) => {
      if (line.includes("blocking")) kill("SIGINT");
      if (line.includes("stopping") && stops++ === 0) setTimeout(() => kill("SIGINT"), 700);
    });
    expect(code).toBe(130);
    expect(stderr).toContain("once more to stop at once");
    expect(stderr).toContain("interrupted in step wait; run the same command again to continue");
  });

  it("stops when the package manager that started it is gone", async () => {
    const command = [process.execPath, "--conditions=@marin/source", "--import", loader, main, "--experiments", scripts, "toy", "--set", "numbers.count=500", "--set", "sum.pauseMs=20"];
    // A shell between them that forwards no signal, as the package manager's may.
    const shell = spawn("sh", ["-c", '"$@"; exit', "sh", ...command], { cwd: directory, env: { ...process.env, npm_lifecycle_event: "experiment", INIT_CWD: directory } });
    let stderr = "";
    shell.stderr.setEncoding("utf8").on("data", (chunk: string) => {
      stderr += chunk;
      if (stderr.includes("sum: from")) shell.kill("SIGKILL");
    });
    // The command's own end closes the stream, not the shell's.
    await new Promise((resolve) => shell.stderr.on("close", resolve));
    expect(stderr).toContain("interrupted in step sum");
  });

  it("refuses a second run of the same step, naming who holds it", async () => {
    const args = ["toy", "--set", "numbers.count=500", "--set", "sum.pauseMs=20"];
    let second: Promise<Finished> | undefined;
    const first = await experiment(args, (line, kill) => {
      if (second !== undefined || !line.startsWith("sum: from")) return;
      second = experiment(args);
      void second.then(() => {
        kill("SIGINT");
      });
    });
    const refused = await second;
    expect(refused?.code).toBe(1);
    expect(refused?.stderr).toMatch(/error: step sum: Artifact sum .* is being produced already.*process \d+/);
    expect(first.code).toBe(130);
  });

  it("reports an error with step and exit code, and the stack only with --verbose", async () => {
    const failed = await experiment(["toy", "--json", "--set", "sum.failAt=2"]);
    expect(failed.code).toBe(1);
    expect(eventsOf(failed).at(-1)).toMatchObject({ event: "error", code: "MARIN_UNEXPECTED", step: "sum", exitCode: 1 });
    expect(failed.stderr).toBe("error: step sum: as asked (unexpected; --verbose shows where)\n");
    expect((await experiment(["toy", "--verbose", "--set", "sum.failAt=2"])).stderr).toMatch(/Error: as asked\n +at .*toy\.ts/);
  });

  it("sends what a script prints to standard error when standard output is for events", async () => {
    const finished = await experiment(["unruly", "--json", "--set", "how=print"]);
    expect(eventsOf(finished).at(-1)).toMatchObject({ event: "result" });
    expect(finished.stderr).toBe("this is no event\n");
  });

  it("writes control characters out instead of sending them to the terminal", async () => {
    expect((await experiment(["unruly"])).stdout).toBe("done\\u001b[2J\n");
    for (const flags of [[], ["--json"], ["--verbose"]]) {
      const { stderr } = await experiment(["unruly", ...flags, "--set", "how=steer"]);
      expect(stderr).toContain("error: step misbehave: \\u001b[2Jclean\\u009b2J");
      expect(stderr).not.toMatch(/[^\P{Cc}\n]/u);
    }
  });

  it("names a damaged artifact and does not use it", async () => {
    const events = eventsOf(await experiment(["toy", "--json"]));
    const numbers = events.find(({ event, step }) => event === "step-finished" && step === "numbers") as Event & { directory: string };
    await writeFile(join(numbers.directory, "numbers.json"), "[1,2,3,5]");
    const { code, stderr } = await experiment(["toy", "--set", "sum.factor=5"]);
    expect(code).toBe(1);
    expect(stderr).toContain("numbers.json was changed or damaged");
  });
});
