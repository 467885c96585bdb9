import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { expect, it } from "vitest";
import { type CliProcess, spawnCli } from "../../test/cli-process.js";

/** What must be found nowhere, by where it was planted. */
const planted = {
  controllerEnvironment: "c0ntr0ller-env-9f2d7a61b3",
  passedEnvironment: "p4ssed-env-5e81c07d2f",
  givenEnvironment: "g1ven-env-77ab30c91e",
  commandArgument: "c0mmand-argument-1b6f4e8a20",
  functionArgument: "funct10n-argument-d3c95a7e41",
} as const;

/** All forms in which a text may lie in a file. */
function formsOf(text: string): Buffer[] {
  return [Buffer.from(text), Buffer.from(text, "utf16le"), Buffer.from(Buffer.from(text).toString("base64").replace(/=+$/, "").slice(0, -1)), Buffer.from(Buffer.from(text).toString("hex")), Buffer.from(encodeURIComponent(text))];
}

/** Where of the given bytes one of the secrets stands. */
function secretsIn(name: string, bytes: Buffer): string[] {
  return Object.entries(planted).flatMap(([place, secret]) => (formsOf(secret).some((form) => bytes.includes(form)) ? [`${place} in ${name}`] : []));
}

async function secretsBelow(directory: string): Promise<string[]> {
  const found: string[] = [];
  for (const entry of await readdir(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const path = join(entry.parentPath, entry.name);
    const bytes = await readFile(path);
    found.push(...secretsIn(path, bytes));
    if (path.endsWith(".gz")) found.push(...secretsIn(`${path}, unpacked`, gunzipSync(bytes)));
  }
  return found;
}

it("Secrets planted in environment, arguments and errors appear in no log, artifact, served page or bug report", { timeout: 600_000 }, async () => {
  const directory = await mkdtemp(join(tmpdir(), "iris-secrets-"));
  const running: CliProcess[] = [];
  try {
    const variables = { MODEL_API_KEY: planted.controllerEnvironment };
    const kept = join(directory, "kept");
    const controller = spawnCli(["controller", "--dir", kept, "--port", "0", "--json"], { directory, variables });
    running.push(controller);
    const { url } = JSON.parse((await controller.until(/^\{.*"listening".*\}$/m))[0]) as { readonly url: string };
    const workspace = join(directory, "work");
    await mkdir(workspace);
    await writeFile(join(workspace, ".env"), `HF_TOKEN=${planted.passedEnvironment}\n`);
    await writeFile(
      join(workspace, "task.mjs"),
      `import { writeFileSync } from "node:fs";
       export function main(options) {
         const { HF_TOKEN, DB_PASSWORD, MODEL_API_KEY } = process.env;
         console.log("printed", HF_TOKEN, DB_PASSWORD, MODEL_API_KEY);
         console.error(JSON.stringify({ HF_TOKEN, DB_PASSWORD, MODEL_API_KEY }));
         writeFileSync(process.env.IRIS_OUTPUT_DIR + "/result.txt", "a result");
         const error = new Error("the server refused " + HF_TOKEN, { cause: new Error("of " + DB_PASSWORD) });
         throw Object.assign(error, { code: "REFUSED", data: { password: DB_PASSWORD, key: MODEL_API_KEY } });
       }
       export async function log() {
         const { irisCtx } = await import(process.env.IRIS_MODULE);
         const { HF_TOKEN, DB_PASSWORD } = process.env;
         irisCtx().log.info("with " + HF_TOKEN, { DB_PASSWORD, nested: { text: "x" + HF_TOKEN } });
         irisCtx().progress({ done: 1, unit: "steps", detail: "by " + HF_TOKEN });
       }`,
    );
    // What a command writes belongs to whoever called it, but must not show secrets either.
    const written: string[] = [];
    const iris = async (args: readonly string[], more: Readonly<Record<string, string>> = {}): Promise<number | null> => {
      const { code, stdout, stderr } = await spawnCli([...args, ...(args.includes("--") ? [] : ["--dir", kept])], { directory: workspace, variables: { ...variables, HF_TOKEN: planted.passedEnvironment, IRIS_DIR: kept, ...more } }).exited;
      written.push(stdout, stderr);
      return code;
    };
    const environment = ["--pass-env", "HF_TOKEN", "--env", `DB_PASSWORD=${planted.givenEnvironment}`];
    const irisModule = new URL("../index.ts", import.meta.url).href;
    expect(await iris(["run", "--name", "leak", "--workspace", ".", ...environment, "--entry", "task.mjs#main", "--args", JSON.stringify([{ token: planted.functionArgument }])])).toBe(3);
    expect(await iris(["run", "--name", "log", ...environment, "--pass-env", "IRIS_MODULE", "--entry", "task.mjs#log", "--retries", "1"], { IRIS_MODULE: irisModule })).toBe(0);
    const usage = "console.error('usage:', process.argv.slice(1).join(' ')); process.exit(2)";
    expect(await iris(["run", "--name", "command", "--retries", "1", ...environment, "--", process.execPath, "-e", usage, "x", "--api-key", planted.commandArgument, `--password=${planted.commandArgument}`])).toBe(3);
    // One that is still there, to be seen while it runs.
    expect(await iris(["submit", "--name", "waits", ...environment, "--", process.execPath, "-e", "setInterval(() => {}, 1000)", "x", "--token", planted.commandArgument])).toBe(0);
    for (const job of ["/leak", "/log", "/command", "/waits"]) {
      expect(await iris(["bug-report", job, "--output", join(directory, "kept", `report${job.replace("/", "-")}.json`)])).toBe(0);
      if (job === "/leak" || job === "/command") for (const command of ["describe", "logs"]) expect(await iris([command, job, "--json"])).toBe(0);
    }

    const pages = ["/", "/style.css", "/health", "/metrics", "/api/jobs", "/api/workers", "/api/users"];
    const ofJobs = ["/job", "/api/job", "/api/describe", "/api/logs", "/api/bug-report"].flatMap((path) => ["/leak", "/log", "/command", "/waits", "/nothing"].map((job) => `${path}?job=${encodeURIComponent(job)}`));
    const found: string[] = written.flatMap((text, index) => secretsIn(`what command ${String(index)} wrote`, Buffer.from(text)));
    for (const path of [...pages, ...ofJobs]) found.push(...secretsIn(path, Buffer.from(await (await fetch(url + path)).arrayBuffer())));
    for (const table of ["jobs", "tasks", "results", "submissions", "endpoints", "budgets"]) {
      const response = await fetch(`${url}/api/query`, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ sql: `SELECT * FROM ${table}` }) });
      expect(response.status).toBe(200);
      found.push(...secretsIn(`the table ${table}`, Buffer.from(await response.arrayBuffer())));
    }
    expect(await iris(["stop", "/waits"])).toBe(0);
    controller.child.kill("SIGTERM");
    expect((await controller.exited).code).toBe(0);
    found.push(...secretsIn("what the controller wrote", Buffer.from(controller.written().stdout + controller.written().stderr)));
    // The marks of the jobs are there, so the search looks where it should.
    const logs = await Promise.all((await readdir(join(kept, "logs"))).map((file) => readFile(join(kept, "logs", file), "utf8")));
    expect(logs.join("")).toMatch(/printed \[secret HF_TOKEN\] \[secret DB_PASSWORD\] \[secret MODEL_API_KEY\]/);
    found.push(...(await secretsBelow(kept)));
    expect(found).toEqual([]);
  } finally {
    for (const each of running) each.child.kill("SIGKILL");
    await Promise.all(running.map(({ exited }) => exited));
    await rm(directory, { recursive: true, force: true });
  }
});
