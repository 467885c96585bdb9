import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { root } from "../site/pages.mjs";

/** Port that the page names; the test takes one that is free. */
const shownPort = "7733";

let folder: string;
let environment: Record<string, string>;
let port: string;
const background: ChildProcess[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "marin-job-"));
  const [bin, work] = [join(folder, "bin"), join(folder, "work")];
  mkdirSync(bin);
  mkdirSync(work);
  // As `pnpm iris` runs it: in the root, told where the user is.
  const { scripts } = JSON.parse(readFileSync(join(root, "package.json"), "utf8")) as { readonly scripts: { readonly iris: string } };
  writeFileSync(join(bin, "iris"), `#!/bin/sh\nexport INIT_CWD="$PWD" npm_lifecycle_event=iris\ncd "${root}"\nexec ${scripts.iris} "$@"\n`);
  chmodSync(join(bin, "iris"), 0o755);
  const own = Object.entries(process.env).filter(([name, value]) => value !== undefined && !/^(?:IRIS_|NODE_OPTIONS|USER_NAME|VITEST)/.test(name)) as [string, string][];
  environment = { ...Object.fromEntries(own), PATH: `${bin}:${process.env["PATH"] ?? ""}`, NO_COLOR: "1" };
  const probe = createServer().listen(0, "127.0.0.1");
  await once(probe, "listening");
  port = String((probe.address() as AddressInfo).port);
  probe.close();
});

afterAll(async () => {
  for (const child of background.reverse()) {
    if (child.exitCode === null && child.signalCode === null && child.pid !== undefined) {
      process.kill(-child.pid, "SIGTERM");
      await once(child, "close");
    }
  }
  rmSync(folder, { recursive: true, force: true });
});

interface Step {
  readonly command: string;
  readonly expected: readonly string[];
}

/** The commands of a page's console blocks, each with what it says they print. */
function stepsOf(markdown: string): Step[] {
  const lines = [...markdown.matchAll(/^```console\n([\s\S]*?)^```/gm)].flatMap(([, block = ""]) => block.trimEnd().split("\n"));
  const steps: { command: string; expected: string[] }[] = [];
  for (const line of lines) {
    if (line.startsWith("$ ")) steps.push({ command: line.slice(2).replaceAll(shownPort, port), expected: [] });
    else steps.at(-1)?.expected.push(line.replaceAll(shownPort, port));
  }
  return steps;
}

/** What the page says, where "..." in a line stands for anything, and alone for any lines. Columns may be wider. */
function patternOf(expected: readonly string[]): RegExp {
  const lines = expected.map((line) => (line === "..." ? "(?:.*\\n)*?" : `${line.split("...").map((part) => part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&").replace(/ +/g, " +")).join(".*")}\\n`));
  return new RegExp(`^${lines.join("")}$`);
}

async function run({ command, expected }: Step): Promise<void> {
  const variables = /^export (.*)$/.exec(command)?.[1];
  if (variables !== undefined) {
    for (const pair of variables.split(" ")) environment[pair.slice(0, pair.indexOf("="))] = pair.slice(pair.indexOf("=") + 1);
    return;
  }
  const stays = command.endsWith(" &");
  const child = spawn("bash", ["-c", `exec 2>&1\n${command.replace(/ &$/, "")}`], { cwd: join(folder, "work"), env: environment, stdio: ["ignore", "pipe", "inherit"], detached: true });
  const closed = once(child, "close");
  if (stays) background.push(child);
  const pattern = patternOf(expected);
  let text = "";
  child.stdout.setEncoding("utf8");
  const said = new Promise<void>((resolve) => {
    child.stdout.on("data", (part: string) => {
      text += part;
      if (stays && pattern.test(text)) resolve();
    });
  });
  await (stays ? Promise.race([said, closed]) : closed);
  expect(text, `$ ${command}`).toMatch(pattern);
}

it("the commands of the page on running a job print what it says, and leave no process behind", { timeout: 900_000 }, async () => {
  const steps = stepsOf(readFileSync(join(root, "docs/running-a-job.md"), "utf8"));
  expect(steps.length).toBeGreaterThan(15);
  for (const step of steps) await run(step);
  for (const child of background.reverse()) {
    if (child.pid !== undefined) process.kill(-child.pid, "SIGTERM");
    await once(child, "close");
  }
  background.length = 0;
  await expect.poll(processesHere, { timeout: 120_000, interval: 200 }).toEqual([]);
});

/** Command lines of processes that name the test's folder. */
function processesHere(): string[] {
  return readdirSync("/proc").filter((name) => /^\d+$/.test(name)).flatMap((pid) => {
    try {
      const line = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ");
      return line.includes(folder) ? [line] : [];
    } catch {
      return [];
    }
  });
}
