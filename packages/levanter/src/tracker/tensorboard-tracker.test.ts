import { appendFile, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import protobuf from "protobufjs";
import { afterAll, beforeAll, expect, it } from "vitest";
import { withFault } from "../../test/faulty-files.js";
import { decodeRecords } from "./event-records.js";
import { TensorBoardTracker } from "./tensorboard-tracker.js";

// TensorFlow's messages as its documentation writes them, independent of the schema that the tracker encodes with.
const { root } = protobuf.parse(`
  syntax = "proto3";
  message Event { double wall_time = 1; int64 step = 2; oneof what { string file_version = 3; Summary summary = 5; } }
  message Summary { message Value { string tag = 1; SummaryMetadata metadata = 9; oneof value { float simple_value = 2; TensorProto tensor = 8; } } repeated Value value = 1; }
  message SummaryMetadata { message PluginData { string plugin_name = 1; bytes content = 2; } PluginData plugin_data = 1; }
  message TensorShapeProto { message Dim { int64 size = 1; string name = 2; } repeated Dim dim = 2; bool unknown_rank = 3; }
  message TensorProto { int32 dtype = 1; TensorShapeProto tensor_shape = 2; repeated bytes string_val = 8; }
`);

interface DecodedEvent {
  readonly wallTime: number;
  readonly step?: number;
  readonly fileVersion?: string;
  readonly summary?: { readonly value: readonly { readonly tag: string; readonly simpleValue?: number; readonly tensor?: { readonly stringVal: readonly Uint8Array[] } }[] };
}

let base: string;
let next = 0;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "levanter-tensorboard-"));
});
afterAll(() => rm(base, { recursive: true }));

async function events(directory: string): Promise<DecodedEvent[]> {
  const [name = "", ...others] = await readdir(directory);
  expect(name).toContain("tfevents");
  expect(others).toEqual([]);
  const type = root.lookupType("Event");
  return [...decodeRecords(await readFile(join(directory, name)))].map(({ data }) => type.toObject(type.decode(data), { longs: Number }) as DecodedEvent);
}

const open = (directory: string, step: number): Promise<TensorBoardTracker> => TensorBoardTracker.open({ directory, step, now: () => 2500 });
const fresh = (): string => join(base, String(next++));
const stepsOf = (found: readonly DecodedEvent[]): number[] => found.map(({ step = 0 }) => step);

it("writes scalars and texts as TensorFlow's messages", async () => {
  const directory = fresh();
  const tracker = await open(directory, 0);
  await tracker.logHyperparameters({ steps: 10, schedule: "a|b", left: undefined, list: [1] });
  await tracker.log(1, { "train/loss": 2.5, "throughput/total_tokens": 64 });
  await tracker.logSummary({ step: 1 });
  await tracker.finish();
  const found = await events(directory);
  expect(found[0]).toEqual({ wallTime: 2.5, fileVersion: "brain.Event:2" });
  expect(found[2]).toMatchObject({ wallTime: 2.5, step: 1, summary: { value: [{ tag: "train/loss", simpleValue: 2.5 }, { tag: "throughput/total_tokens", simpleValue: 64 }] } });
  expect(found[1]?.summary?.value[0]).toMatchObject({ tag: "hyperparameters", metadata: { pluginData: { pluginName: "text" } }, tensor: { dtype: 7, tensorShape: { dim: [{ size: 1 }] } } });
  const text = found[1]?.summary?.value[0]?.tensor?.stringVal[0];
  expect(new TextDecoder().decode(text)).toBe("| name | value |\n|---|---|\n| steps | 10 |\n| schedule | a\\|b |\n| list | [1] |");
  expect(found[3]).toMatchObject({ step: 1, summary: { value: [{ tag: "summary" }] } });
});

it("has each step once, whatever a crash left behind the step that a run goes on from", async () => {
  const directory = fresh();
  const first = await open(directory, 0);
  for (let step = 1; step <= 5; step++) await first.log(step, { "train/loss": step });
  await first.finish();
  const [name = ""] = await readdir(directory);
  await appendFile(join(directory, name), "half a record");
  const second = await open(directory, 3);
  await second.log(4, { "train/loss": 40 });
  await second.finish();
  expect(stepsOf(await events(directory))).toEqual([0, 1, 2, 3, 4]);
});

it("starts anew for a new run", async () => {
  const directory = fresh();
  const first = await open(directory, 0);
  await first.log(1, { "train/loss": 1 });
  await first.finish();
  await (await open(directory, 0)).finish();
  expect(stepsOf(await events(directory))).toEqual([0]);
});

it("says when the disk is full", async () => {
  const tracker = await open(fresh(), 0);
  const { error } = await withFault({ after: 0, mode: "once" }, () => tracker.log(1, { "train/loss": 1 }));
  expect(error).toMatchObject({ code: "RIGGING_DISK_FULL" });
  await tracker.finish();
});
