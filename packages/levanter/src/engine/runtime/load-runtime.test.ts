import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { loadRuntime } from "./load-runtime.js";

test("the way to the runtime can be forced, and a wrong name is an error", async () => {
  const notices: string[] = [];
  const note = (line: string): void => void notices.push(line);
  expect((await loadRuntime(note, "node")).kind).toBe("node");
  expect((await loadRuntime(note, "koffi")).kind).toBe("koffi");
  await expect(loadRuntime(note, "java")).rejects.toMatchObject({ code: "LEVANTER_CONFIG", message: expect.stringContaining('"java"') as string });
  expect(notices).toEqual([]);
});

async function runScript(name: string): Promise<unknown> {
  const script = fileURLToPath(new URL(`../../../test/runtime/${name}`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], {
    env: { ...process.env, MARIN_ENGINE_RUNTIME: "" },
  });
  return JSON.parse(stdout) as unknown;
}

test("where koffi cannot be used, onnxruntime-node's run() serves, with one line saying why", async () => {
  expect(await runScript("koffi-taken.ts")).toEqual({
    kind: "node",
    notices: [expect.stringMatching(/^ONNX Runtime runs through onnxruntime-node's run\(\), which copies tensors at each call: koffi was already used in this process/)],
  });
});

test("where koffi is absent, the line says what brings it back", async () => {
  expect(await runScript("koffi-absent.ts")).toEqual({
    kind: "node",
    notices: [expect.stringMatching(/copies tensors at each call: koffi could not be loaded: .*\. Reinstall it: pnpm install --force$/)],
    device: { code: "LEVANTER_RUNTIME_UNAVAILABLE", message: expect.stringMatching(/^device "webgpu" is reached through koffi, which could not be loaded: .*\. Reinstall it: pnpm install --force$/) },
  });
});

test("where onnxruntime-node is absent, the error names it once, with what brings it back", async () => {
  expect(await runScript("package-absent.ts")).toEqual({
    code: "LEVANTER_RUNTIME_UNAVAILABLE",
    message: "the package onnxruntime-node is not installed. Install it: pnpm install --force",
  });
});
