import { execFileSync } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { describeRun, redactArguments, redactFields } from "./provenance.js";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "finestore-provenance-"));
});
afterEach(() => rm(directory, { recursive: true }));

test("a run names its commit, and whether files differ from it", async () => {
  expect(await describeRun(directory, ["first-lm"])).toMatchObject({ host: hostname(), commit: null, dirty: false, arguments: ["first-lm"] });
  const git = (...parameters: string[]): string =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.org", "-C", directory, ...parameters], { encoding: "utf8" }).trim();
  git("init", "--quiet");
  await writeFile(join(directory, "script.ts"), "1\n");
  git("add", ".");
  git("commit", "--quiet", "-m", "first");
  const commit = git("rev-parse", "HEAD");
  expect(await describeRun(directory, [])).toMatchObject({ commit, dirty: false });
  await writeFile(join(directory, "script.ts"), "2\n");
  expect(await describeRun(directory, [])).toMatchObject({ commit, dirty: true });
});

test.each([
  [["--set", "train.learningRate=1e-3"], ["--set", "train.learningRate=1e-3"]],
  [["--set", "sample.tokens=100"], ["--set", "sample.tokens=100"]],
  [["--set", "model.maxTokens=100", "--set", "tokenizer.vocabSize=4096"], ["--set", "model.maxTokens=100", "--set", "tokenizer.vocabSize=4096"]],
  [["--set", "judge.apiKey=abc"], ["--set", "judge.apiKey=[redacted]"]],
  [["--set", "hub.api_key=abc=def"], ["--set", "hub.api_key=[redacted]"]],
  [["--password", "hunter2", "first-lm"], ["--password", "[redacted]", "first-lm"]],
  [["--token=abc"], ["--token=[redacted]"]],
  [["--set", "source=https://me:hunter2@example.org/x"], ["--set", "source=https://[redacted]@example.org/x"]],
  [["--set", `note=hf_${"a".repeat(30)}`], ["--set", "note=[redacted]"]],
])("of the arguments %j what is secret is replaced", (given, expected) => {
  expect(redactArguments(given)).toEqual(expected);
});

test("of options the secret fields are replaced, however deep", () => {
  const options = { judge: { apiKey: "abc", url: "https://me:pw@example.org", tokens: 100 }, lists: [{ password: "x" }], none: null };
  expect(redactFields(options)).toEqual({ judge: { apiKey: "[redacted]", url: "https://[redacted]@example.org", tokens: 100 }, lists: [{ password: "[redacted]" }], none: null });
});
