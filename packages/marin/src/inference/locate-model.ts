import { stat } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { Store, type Artifact } from "@marin/finestore";
import { MarinError } from "@marin/rigging";
import type { ModelLocation } from "./served-model.js";

/** Name of the file in a tokenizer's artifact. */
const TOKENIZER_FILE = "tokenizer.json";

/** Where something lies: its path, or an artifact. */
export type Place = string | { readonly directory: string };

/** A model that an experiment trained, as {@link locateModel} finds it. */
export interface LocatedModel extends ModelLocation {
  /** For people and clients: `train-1f3c5a7b`, the step's name and the beginning of its fingerprint. */
  readonly name: string;
}

/**
 * Finds a trained model and the tokenizer that its tokens were made with.
 *
 * @param path - a store (`--prefix` of `pnpm experiment`), whose model trained last is meant, or one artifact of a step that trains
 * @throws MarinError MARIN_INFERENCE_NO_MODEL when there is none, saying what would make one; finestore's errors
 */
export async function locateModel(path: string): Promise<LocatedModel> {
  const directory = resolve(path);
  const store = await Store.openExisting(directory);
  if (store !== undefined) {
    const trained = (await store.list()).filter(({ name }) => name === "train").flatMap(({ artifact }) => artifact ?? []);
    const newest = trained.reduce<Artifact | undefined>((last, artifact) => (last === undefined || finished(artifact) > finished(last) ? artifact : last), undefined);
    if (newest === undefined) throw noModel(`the store ${directory} holds no trained model`, directory);
    return withTokenizer(store, newest);
  }
  const around = await Store.openExisting(dirname(dirname(directory)));
  const artifact = await around?.get(basename(dirname(directory)), basename(directory)).catch(() => undefined);
  if (around === undefined || artifact === undefined) throw noModel(`${directory} is neither a store of artifacts nor one of its artifacts`, directory);
  return withTokenizer(around, artifact);
}

/**
 * The paths of a model and a tokenizer given as paths or artifacts.
 *
 * @param tokenizer - a `tokenizer.json`, or a directory or artifact that holds one
 */
export async function modelLocation(checkpoint: Place, tokenizer: Place): Promise<ModelLocation> {
  const file = pathOf(tokenizer);
  const isDirectory = await stat(file).then((found) => found.isDirectory(), () => false);
  return { checkpoint: pathOf(checkpoint), tokenizer: isDirectory ? join(file, TOKENIZER_FILE) : file };
}

function pathOf(place: Place): string {
  return resolve(typeof place === "string" ? place : place.directory);
}

async function withTokenizer(store: Store, { directory, record }: Artifact): Promise<LocatedModel> {
  const lineage = await store.lineage(record.name, record.fingerprint);
  const tokenizer = lineage.find(({ name, state }) => name === "tokenizer" && state === "present")?.artifact;
  if (tokenizer === undefined) {
    throw noModel(`${directory} was not trained on tokens of a tokenizer that ${store.directory} holds; give the tokenizer yourself`, directory);
  }
  return { name: `${record.name}-${record.fingerprint.slice(0, 8)}`, checkpoint: directory, tokenizer: join(tokenizer.directory, TOKENIZER_FILE) };
}

function finished({ record }: Artifact): string {
  return record.provenance.finishedAt;
}

function noModel(problem: string, directory: string): MarinError {
  return new MarinError("MARIN_INFERENCE_NO_MODEL", `${problem}. Train one: pnpm experiment first-lm, then serve what its --prefix names (.marin by default).`, { data: { directory } });
}
