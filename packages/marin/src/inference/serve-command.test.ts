import { cp, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fingerprint, Store, type Artifact } from "@marin/finestore";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { tinyModel } from "../../test/tiny-model.js";
import { locateModel } from "./locate-model.js";
import { serveCommand } from "./serve-command.js";
import type { ModelLocation } from "./served-model.js";

let root: string;
let location: ModelLocation;
let prefix: string;
const trained: Artifact[] = [];

async function produce(store: Store, name: string, config: unknown, from: Readonly<Record<string, Artifact>>, fill: (directory: string) => Promise<unknown>): Promise<Artifact> {
  const inputs = Object.fromEntries(Object.entries(from).map(([role, { record }]) => [role, { name: record.name, fingerprint: record.fingerprint, digest: record.digest }]));
  const identity = { version: "1", config, inputs: Object.fromEntries(Object.entries(inputs).map(([role, input]) => [role, input.fingerprint])) };
  return store.produce(name, fingerprint({ name, ...identity }), { version: "1", config, inputs }, async (directory) => void (await fill(directory)));
}

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "marin-serve-command-"));
  location = await tinyModel(join(root, "model"));
  prefix = join(root, "store");
  const store = await Store.open(prefix);
  const tokenizer = await produce(store, "tokenizer", {}, {}, (directory) => cp(location.tokenizer, join(directory, "tokenizer.json")));
  const tokens = await produce(store, "tokens", {}, { tokenizer }, (directory) => writeFile(join(directory, "note"), "tokens"));
  for (const seed of [0, 1]) {
    trained.push(await produce(store, "train", { seed }, { tokens }, (directory) => cp(join(location.checkpoint, "checkpoints"), join(directory, "checkpoints"), { recursive: true })));
  }
});
afterAll(() => rm(root, { recursive: true }));

describe("locateModel", () => {
  it("finds the model of a store that was trained last, or that of an artifact, with the tokenizer of its lineage", async () => {
    const [first, last] = trained;
    expect((await locateModel(prefix)).checkpoint).toBe(last?.directory);
    const { name, checkpoint, tokenizer } = await locateModel(first?.directory ?? "");
    expect(checkpoint).toBe(first?.directory);
    expect(name).toBe(`train-${first?.record.fingerprint.slice(0, 8) ?? ""}`);
    expect(tokenizer).toMatch(/store.tokenizer.[0-9a-f]{64}.tokenizer\.json$/);
  });

  it("says that there is no model, and makes nothing", async () => {
    await expect(locateModel(join(root, "nowhere"))).rejects.toMatchObject({ code: "MARIN_INFERENCE_NO_MODEL", message: expect.stringContaining("is neither a store of artifacts nor") as string });
    expect(await readdir(root)).not.toContain("nowhere");
    await Store.open(join(root, "empty"));
    await expect(locateModel(join(root, "empty"))).rejects.toMatchObject({ code: "MARIN_INFERENCE_NO_MODEL", message: expect.stringContaining("pnpm experiment first-lm") as string });
    await expect(locateModel(join(prefix, "tokens", (await readdir(join(prefix, "tokenizer")))[0] ?? ""))).rejects.toMatchObject({ code: "MARIN_INFERENCE_NO_MODEL" });
  });
});

describe("pnpm serve", () => {
  interface Ended {
    readonly code: number;
    readonly out: string;
    readonly err: string;
  }

  async function serve(argv: readonly string[], onServing?: (text: string) => Promise<void>): Promise<Ended> {
    const controller = new AbortController();
    let [out, err] = ["", ""];
    let used: Promise<void> | undefined;
    const code = await serveCommand(argv, {
      workingDirectory: root,
      signal: controller.signal,
      stdout: {
        write: (text) => {
          out += text;
          used ??= onServing?.(text).finally(() => { controller.abort(); });
        },
      },
      stderr: { write: (text) => void (err += text) },
    });
    await used;
    return { code, out, err };
  }

  it("serves a store's model until it is told to stop, as the example that it prints says", async () => {
    let answer = "";
    const ended = await serve(["store", "--threads", "1"], async (text) => {
      const [, url = "", body = ""] = /curl -N (\S+) .* -d '(.*)'/.exec(text) ?? [];
      const response = await fetch(url, { method: "POST", headers: { "Content-Type": "application/json" }, body });
      answer = await response.text();
    });
    expect(ended).toMatchObject({ code: 0, err: "" });
    expect(ended.out).toContain(`serving ${trained[1]?.directory ?? ""}`);
    expect(answer.trimEnd()).toMatch(/data: \[DONE\]$/);
  });

  it.each<[string[], number, RegExp]>([
    [["nowhere"], 1, /^error: .*nowhere is neither a store of artifacts nor one of its artifacts\. Train one: pnpm experiment first-lm/],
    [["store", "--prot", "80"], 2, /^error: unknown option '--prot'.*--help shows every flag/s],
    [["store", "--port", "http"], 2, /^error: --port needs a whole number, got "http"/],
    [["store", "--port", "99999"], 2, /port: /],
    [["store", "--host", "0.0.0.0"], 1, /on 0\.0\.0\.0 others can reach the server: give a token/],
    [["store", "more"], 2, /too many arguments/],
  ])("refuses %j", async (argv, code, message) => {
    const ended = await serve(argv);
    expect(ended).toEqual({ code, out: "", err: expect.stringMatching(message) as string });
  });

  it("explains its flags", async () => {
    const { code, out } = await serve(["--help"]);
    expect(code).toBe(0);
    for (const flag of ["--port", "--host", "--token-file", "--tokenizer", "--name", "--threads", "--help"]) expect(out).toContain(flag);
  });
});
