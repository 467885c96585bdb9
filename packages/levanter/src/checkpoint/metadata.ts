import { createHash } from "node:crypto";
import { access, readFile } from "node:fs/promises";
import { join } from "node:path";
import { MarinError } from "@marin/iris";
import { z } from "zod";
import type { LanguageModel } from "../models/language-model.js";
import { corruptFile } from "./safetensors.js";

/** Name of the file that describes a checkpoint; written last. */
export const METADATA_FILE = "metadata.json";
/** Version of the layout that this code writes and reads. */
export const CHECKPOINT_VERSION = 2;

/** A value that JSON can hold. Numbers are finite. */
export type JsonValue = string | number | boolean | null | readonly JsonValue[] | { readonly [name: string]: JsonValue };

const json = z.json();
const scalar = z.union([z.string(), z.number(), z.boolean()]);
const file = z.strictObject({
  bytes: z.int().nonnegative().describe("size of the file in bytes"),
  sha256: z.string().regex(/^[0-9a-f]{64}$/).describe("SHA-256 of the file's contents, hexadecimal"),
  group: z.string().describe("what the tensors are: parameters, ..."),
  tensors: z.array(z.string()).describe("names of its tensors, in order"),
});

const metadataSchema = z.strictObject({
  formatVersion: z.literal(CHECKPOINT_VERSION).describe("version of the layout"),
  step: z.int().positive().describe("updates made so far; the data's position, the schedules and all random numbers follow from it"),
  temporary: z.boolean().describe("whether it goes when a later one is there"),
  engine: z.string().describe("fingerprint of the engine (runtime version, CPU features): equal bits are promised for equal fingerprints only"),
  run: z.record(z.string(), scalar).describe("everything the numbers depend on: model, data, seed and options; compared on resume"),
  runFingerprint: z.string().describe("SHA-256 of run"),
  state: json.describe("what else the trainer goes on from"),
  files: z.record(z.string().regex(/^[\w.-]+\.safetensors$/), file).describe("the files of tensors, by name, in order"),
});

/** What describes a checkpoint, without its own digest. It holds no times: equal runs write equal bytes. */
export type CheckpointMetadata = z.infer<typeof metadataSchema>;

/** What a run's numbers depend on, flat: `model.layers`, `trainer.seed`, `data.fingerprint`, ... */
export type RunIdentity = Readonly<Record<string, string | number | boolean>>;

/**
 * The part of a run's identity that names the model: `model.type`, and the model's configuration as `model.<field>`. Throws `LEVANTER_CONFIG` for a field
 * that a checkpoint would not give back.
 */
export function modelIdentity(model: LanguageModel): RunIdentity {
  for (const [name, value] of Object.entries(model.config)) {
    if ((value as unknown) === undefined || scalar.safeParse(value).success) continue;
    throw new MarinError("LEVANTER_CONFIG", `the model's configuration has the field "${name}" of type ${typeof value}, value ${String(value)}; a checkpoint keeps texts, booleans and finite numbers`, {
      data: { field: name },
    });
  }
  return { "model.type": model.type, ...Object.fromEntries(Object.entries(model.config).map(([name, value]) => [`model.${name}`, value])) };
}

/** A copy of a JSON value. Throws `TypeError` for anything that JSON would change, such as NaN. */
export function requireJson(value: JsonValue): z.infer<typeof json> {
  const parsed = json.safeParse(value);
  if (parsed.success) return parsed.data;
  throw new TypeError(`a checkpoint's state is JSON, with finite numbers: ${parsed.error.issues[0]?.message ?? "another value"}`, { cause: parsed.error });
}

/** SHA-256 of a value's JSON form, hexadecimal. */
export function jsonDigest(value: unknown): string {
  return createHash("sha256").update(JSON.stringify(value)).digest("hex");
}

/** The text of `metadata.json`, which carries the digest of its own contents. */
export function encodeMetadata(metadata: CheckpointMetadata): string {
  return `${JSON.stringify({ ...metadata, digest: jsonDigest(metadata) }, undefined, 2)}\n`;
}

/** Refuses a directory that someone names, and that holds no description of a checkpoint. Throws `LEVANTER_CHECKPOINT_MISSING`. */
export async function requireCheckpoint(directory: string): Promise<void> {
  await access(join(directory, METADATA_FILE)).catch((cause: unknown) => {
    if ((cause as NodeJS.ErrnoException).code !== "ENOENT" && (cause as NodeJS.ErrnoException).code !== "ENOTDIR") return;
    throw new MarinError("LEVANTER_CHECKPOINT_MISSING", `${directory} is no checkpoint: there is no ${METADATA_FILE} in it. A run's checkpoints are the directories checkpoints/step-* in it.`, {
      data: { directory },
      cause,
    });
  });
}

/**
 * Reads the description of the checkpoint in `directory`. Throws `LEVANTER_CHECKPOINT_CORRUPT` when it is missing, altered or shortened,
 * `LEVANTER_CHECKPOINT_VERSION` when another version of this software wrote it.
 */
export async function readCheckpointMetadata(directory: string): Promise<CheckpointMetadata> {
  const path = join(directory, METADATA_FILE);
  const text = await readFile(path, "utf8").catch((cause: unknown) => {
    throw corruptFile(path, "a checkpoint's description", "no readable file", cause);
  });
  let value: Record<string, unknown>;
  try {
    value = z.record(z.string(), z.unknown()).parse(JSON.parse(text));
  } catch (cause) {
    throw corruptFile(path, "a JSON object", `${String(text.length)} other characters`, cause);
  }
  const version = value["formatVersion"];
  if (typeof version === "number" && version !== CHECKPOINT_VERSION) {
    throw new MarinError(
      "LEVANTER_CHECKPOINT_VERSION",
      `${path} has format version ${String(version)}, this software reads version ${String(CHECKPOINT_VERSION)}. Go on with the version that wrote it, or delete the run's directory.`,
      { data: { file: path, expected: CHECKPOINT_VERSION, found: version } },
    );
  }
  const { digest, ...contents } = value;
  const found = jsonDigest(contents);
  if (digest !== found) throw corruptFile(path, `digest ${String(digest)}`, found);
  const parsed = metadataSchema.safeParse(contents);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw corruptFile(path, `a valid ${issue?.path.join(".") ?? "description"}`, issue?.message ?? "another shape");
  }
  return parsed.data;
}

/**
 * Refuses to go on with a run whose numbers depend on other things than the checkpoint's did. Throws `LEVANTER_CHECKPOINT_MISMATCH` naming each field
 * with both values.
 */
export function requireSameRun(directory: string, found: RunIdentity, expected: RunIdentity): void {
  const fields = [...new Set([...Object.keys(expected), ...Object.keys(found)])].filter((field) => expected[field] !== found[field]);
  if (fields.length === 0) return;
  const list = fields.map((field) => `${field} (checkpoint ${String(found[field] ?? "none")}, now ${String(expected[field] ?? "none")})`);
  throw new MarinError(
    "LEVANTER_CHECKPOINT_MISMATCH",
    `${directory} is a checkpoint of another run: ${list.join(", ")}. Use another directory for the new run, or set these back to resume the old one.`,
    { data: { directory, fields, checkpoint: found, run: expected } },
  );
}
