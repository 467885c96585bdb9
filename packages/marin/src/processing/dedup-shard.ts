import { join } from "node:path";
import { presets, type PresetSignature, sketchText } from "@marin/dupekit";
import { entry, getIrisCtx } from "@marin/iris";
import { readShard, shardName, shardWriter } from "./documents-file.js";
import { type Split, splitOf, type SplitRule } from "./split-rule.js";

/** Documents and the UTF-8 bytes of their texts. */
export interface DocumentCounts {
  documents: number;
  bytes: number;
}

/** What duplicate detection needs to know of a document. */
export interface ShardSketch {
  readonly id: string;
  readonly source: string;
  /** UTF-8 bytes of the text. */
  readonly bytes: number;
  /** Characters of the text. */
  readonly length: number;
  readonly shingles: Uint32Array;
  readonly signature?: PresetSignature;
}

/** Name of a preset of dupekit's. */
export type PresetName = keyof typeof presets;

/** A shard to sketch. */
export interface SketchTask {
  readonly path: string;
  /** By which candidates will be found; undefined: by rare shingles. */
  readonly preset: PresetName | undefined;
}

/** Sketches the documents of a shard, in order. */
export async function sketchShard({ path, preset }: SketchTask): Promise<ShardSketch[]> {
  const options = preset === undefined ? {} : { preset: presets[preset] };
  const sketches: ShardSketch[] = [];
  for await (const { id, text, source } of readShard(path, getIrisCtx()?.signal)) {
    const { hash: _hash, ...sketch } = sketchText(text, options);
    sketches.push({ id, source, bytes: Buffer.byteLength(text), ...sketch });
  }
  return sketches;
}

/** A shard to divide. */
export interface DivideTask {
  readonly path: string;
  readonly shard: number;
  readonly shards: number;
  /** Places of the removed documents in the shard. */
  readonly removed: readonly number[];
  /** Places of the documents whose beginnings are wanted. */
  readonly shown: readonly number[];
  readonly rule: SplitRule;
  readonly outputDir: string;
}

/** What a shard gave. */
export interface DividedShard {
  readonly train: DocumentCounts;
  readonly validation: DocumentCounts;
  /** Beginnings of the texts wanted, by place. */
  readonly beginnings: Readonly<Record<number, string>>;
}

/** Characters of a text that are shown as its beginning. */
const beginningLength = 600;

/** A text's beginning, cut after a word where there is one. */
function beginningOf(text: string): string {
  const characters = Array.from(text.slice(0, 2 * beginningLength + 2));
  if (characters.length <= beginningLength) return text;
  const cut = characters.slice(0, beginningLength + 1).join("");
  return `${cut.replace(/\s\S*$/u, "").trimEnd()} …`;
}

/** Writes what a shard keeps into the shards of the two parts. */
export async function divideShard({ path, shard, shards, removed, shown, rule, outputDir }: DivideTask): Promise<DividedShard> {
  const counts: Record<Split, DocumentCounts> = { train: { documents: 0, bytes: 0 }, validation: { documents: 0, bytes: 0 } };
  const beginnings: Record<number, string> = {};
  const [gone, wanted] = [new Set(removed), new Set(shown)];
  const writerOf = (split: Split): ReturnType<typeof shardWriter> => shardWriter(join(outputDir, split, shardName(shard, shards)));
  const writers = { train: writerOf("train"), validation: writerOf("validation") };
  try {
    let place = 0;
    for await (const { id, text, source } of readShard(path, getIrisCtx()?.signal)) {
      if (wanted.has(place)) beginnings[place] = beginningOf(text);
      if (!gone.has(place)) {
        const split = splitOf(id, rule);
        counts[split].documents += 1;
        counts[split].bytes += Buffer.byteLength(text);
        await writers[split].write({ id, text, source });
      }
      place += 1;
    }
    await writers.train.close();
    await writers.validation.close();
  } finally {
    await writers.train.abort();
    await writers.validation.abort();
  }
  return { ...counts, beginnings };
}

export const sketchShardEntry = entry<typeof sketchShard>(import.meta.url, "sketchShard");
export const divideShardEntry = entry<typeof divideShard>(import.meta.url, "divideShard");
