import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { parse } from "yaml";
import { record } from "../test/record.js";

const folder = fileURLToPath(new URL(".", import.meta.url));
const read = (file: string): unknown => parse(readFileSync(`${folder}${file}`, "utf8"));

it("the example of a stack's file is a right configuration, with spot TPU and GPU pools", async () => {
  const { outputs, resources } = await record((read("Pulumi.example.yaml") as { config: Record<string, unknown> }).config["marin:cloud"]);
  expect(outputs["nodePools"]).toEqual(["system", "trillium", "h100"]);
  const spot = resources.filter(({ type }) => type.endsWith(":NodePool")).map(({ inputs }) => (inputs["nodeConfig"] as { spot: boolean }).spot);
  expect(spot).toEqual([false, true, true]);
});

it("Node loads the program with the arguments that Pulumi.yaml hands it", { timeout: 60_000 }, () => {
  const { main, runtime } = read("Pulumi.yaml") as { main: string; runtime: { options: { nodeargs: string } } };
  const { stderr } = spawnSync(process.execPath, [...runtime.options.nodeargs.split(" "), main], {
    cwd: folder,
    encoding: "utf8",
    env: { PATH: process.env["PATH"] },
  });
  // Everything is loaded and the program has begun: it asks for its configuration, which only the pulumi command hands it.
  expect(stderr).toContain("Missing required configuration variable 'marin:cloud'");
});
