import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";

const script = fileURLToPath(new URL("../../../test/runtime/interrupted-run.ts", import.meta.url));

// Exit codes above 128 other than SIGINT's own ending, and the signals SIGSEGV, SIGABRT and SIGBUS, would be crashes.
test.each([
  ["exit", { code: 0, signal: null }],
  ["throw", { code: 1, signal: null }],
  ["interrupt", { code: null, signal: "SIGINT" }],
  ["terminate", { code: 0, signal: null }],
])("a process in the middle of a native call ends cleanly: %s", async (how, expected) => {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script, how], { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (data) => (output += String(data)));
  child.stderr.on("data", (data) => (output += String(data)));
  const [code, signal] = (await once(child, "close")) as [number | null, NodeJS.Signals | null];
  expect({ code, signal, output: how === "throw" ? /thrown in mid-call/.exec(output)?.[0] : output }).toEqual({ ...expected, output: how === "throw" ? "thrown in mid-call" : "" });
}, 60_000);
