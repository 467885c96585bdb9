import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { entry, loadEntry } from "./entry.js";

const module = new URL("../test/waits-for-itself.ts", import.meta.url);

test("a module that waits for itself is told, and does not end its process without a word", async () => {
  await expect(loadEntry(entry(module, "twice"))).rejects.toMatchObject({ code: "FRAY_ENTRY_CYCLE", message: expect.stringContaining("waits at its top level") as string, data: { module: module.href } });
  // As a program of its own it is loaded by nobody whom we would know.
  const { status, stderr } = spawnSync(process.execPath, ["--conditions=@marin/source", "--import", "tsx", fileURLToPath(module)], { encoding: "utf8" });
  expect(stderr).toContain("Move the functions of the work to a module of their own");
  expect(status).toBe(1);
});
