import { createHash, randomUUID } from "node:crypto";
import { serialize } from "node:v8";
import type { Entry, Storage } from "@marin/iris";
import type { Plan, ShardInput, ShardPlan, Stage } from "./stage.js";
import { resolveWork } from "./work.js";

/**
 * Tells whether what makes a shard is what made it before: its operations (of functions their text, their name and the arguments bound to them), and
 * what it reads (of files path, size and version; of items their values). What a function calls, or holds of its surroundings, is not seen.
 */
export class Fingerprints {
  readonly #plan: Plan;
  readonly #storage: Storage;
  readonly #texts = new Map<unknown, Promise<string>>();
  readonly #shards = new Map<ShardPlan, Promise<string>>();
  readonly #stages = new Map<number, Promise<string>>();

  constructor(plan: Plan, storage: Storage) {
    this.#plan = plan;
    this.#storage = storage;
  }

  /** Of the whole plan. */
  plan(): Promise<string> {
    return this.stage(this.#plan.stages.length - 1);
  }

  /** Of all shards of a stage, and of what becomes of their records. */
  stage(index: number): Promise<string> {
    let known = this.#stages.get(index);
    if (known === undefined) {
      const stage = this.#plan.stages[index] as Stage;
      known = (async () => hash([await this.#text(stage.output), ...(await this.#all(stage.shards))]))();
      this.#stages.set(index, known);
    }
    return known;
  }

  /** Of what makes the records of a shard. */
  shard(plan: ShardPlan): Promise<string> {
    let known = this.#shards.get(plan);
    if (known === undefined) {
      known = this.#shard(plan);
      this.#shards.set(plan, known);
    }
    return known;
  }

  async #shard({ input, ops, numbers }: ShardPlan): Promise<string> {
    // Only these see the numbers: a file that is added leaves the other shards as they were.
    const seen = ops.some(({ kind }) => kind === "mapShard" || kind === "sample") ? JSON.stringify(numbers) : "";
    return hash([...(await this.#input(input)), await this.#text(ops), seen]);
  }

  async #input(input: ShardInput): Promise<string[]> {
    switch (input.kind) {
      case "items":
        return ["items", hashItems(input.items)];
      case "iterable":
        // What it will give is not known: it is never the same as before.
        return ["iterable", randomUUID()];
      case "file": {
        // Planning asks a bucket for no versions: it would be a request for each file, for nothing where nobody compares.
        const version = input.file.version ?? (await this.#storage.stat(input.file.path))?.version;
        return ["file", JSON.stringify({ ...input.file, version }), await this.#text(input.read)];
      }
      case "stage": {
        const { shards, output } = this.#plan.stages[input.stage] as Stage;
        return ["stage", await this.#text(output), ...(await this.#all(shards.slice(input.start, input.end)))];
      }
      case "share":
        return ["share", await this.stage(input.stage), `${String(input.shard)} of ${String(input.shards)}`];
      case "groups":
        return ["groups", await this.stage(input.stage), String(input.shard), await this.#text(input.group)];
      case "join":
        return ["join", await this.shard(input.left), await this.shard(input.right), await this.#text(input.join)];
    }
  }

  #all(shards: readonly ShardPlan[]): Promise<string[]> {
    return Promise.all(shards.map((shard) => this.shard(shard)));
  }

  /** Operations and settings as text, functions included. Shards share theirs. */
  #text(value: object): Promise<string> {
    let known = this.#texts.get(value);
    if (known === undefined) {
      known = textOf(value);
      this.#texts.set(value, known);
    }
    return known;
  }
}

async function textOf(value: unknown): Promise<string> {
  if (typeof value === "function") return `function ${String(value)}`;
  if (typeof value === "bigint") return `${String(value)}n`;
  if (value instanceof Date) return `date ${String(value.getTime())}`;
  if (value instanceof Uint8Array) return `bytes ${Buffer.from(value).toString("base64")}`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "undefined";
  const named = isEntry(value) ? [`text: ${String(await resolveWork(value))}`] : [];
  const fields = Array.isArray(value) ? value.map((each: unknown) => textOf(each)) : Object.entries(value).map(async ([name, field]) => `${JSON.stringify(name)}: ${await textOf(field)}`);
  return `{${[...named, ...(await Promise.all(fields))].join(", ")}}`;
}

function isEntry(value: object): value is Entry<never[]> {
  return "module" in value && "export" in value && typeof value.module === "string" && typeof value.export === "string";
}

function hashItems(items: readonly unknown[]): string {
  try {
    return createHash("sha256").update(serialize(items)).digest("hex");
  } catch {
    // Functions and the like: not to be compared with what was before.
    return randomUUID();
  }
}

function hash(parts: readonly string[]): string {
  const all = createHash("sha256");
  // Lengths keep the parts apart.
  for (const part of parts) all.update(`${String(part.length)}:${part}`);
  return all.digest("hex").slice(0, 32);
}
