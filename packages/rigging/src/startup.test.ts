import { execFile } from "node:child_process";
import { createRequire } from "node:module";
import { fileURLToPath, pathToFileURL } from "node:url";
import { promisify } from "node:util";
import { expect, test } from "vitest";

test("importing the package loads none of the libraries that only some of its users need, so that workers start fast", async () => {
  const tsx = pathToFileURL(createRequire(import.meta.url).resolve("tsx")).href;
  const script = fileURLToPath(new URL("../test/loaded-libraries.ts", import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, ["--conditions=@marin/source", "--import", tsx, script]);
  const loaded = JSON.parse(stdout) as string[];
  expect(loaded).toContain("msgpackr");
  for (const library of ["pino", "jose", "google-auth-library", "@google-cloud/storage", "@aws-sdk/client-s3", "prom-client", "@opentelemetry/api", "@opentelemetry/sdk-trace", "commander", "ws", "minimatch"]) expect(loaded).not.toContain(library);
});
