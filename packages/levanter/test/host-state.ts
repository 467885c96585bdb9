import type { CheckpointGroups } from "../src/checkpoint/write-checkpoint.js";
import type { EngineBuffer, Specs } from "../src/engine/types.js";

/** The tensors of each group. */
export const HOST_SPECS: Specs = { "b.weight": { shape: [2, 3], dtype: "float32" }, a: { shape: [], dtype: "float32" }, empty: { shape: [0], dtype: "float32" } };

/** A state in host memory. */
export interface HostState {
  readonly groups: CheckpointGroups;
  /** All numbers, in order. */
  values(): Promise<number[]>;
  /** Adds a number to each. */
  add(value: number): Promise<void>;
}

/** Groups `parameters` and `moments` in host memory, whose numbers all follow from `seed`. */
export function hostState(seed: number, specs: Specs = HOST_SPECS): HostState {
  let value = seed;
  const group = (): Record<string, EngineBuffer> =>
    Object.fromEntries(
      Object.entries(specs).map(([name, spec]) => {
        const data = Float32Array.from({ length: spec.shape.reduce((a, b) => a * b, 1) }, () => (value += 0.1));
        const buffer: EngineBuffer = {
          spec,
          read: () => Promise.resolve(data.slice()),
          write: (source) => {
            data.set(source);
          },
        };
        return [name, buffer];
      }),
    );
  const groups: CheckpointGroups = { parameters: { specs, buffers: group() }, moments: { specs, buffers: group() } };
  const all = Object.values(groups).flatMap(({ buffers }) => Object.values(buffers));
  return {
    groups,
    async values() {
      return (await Promise.all(all.map((buffer) => buffer.read()))).flatMap((data) => [...data]);
    },
    async add(amount) {
      for (const buffer of all) buffer.write((await buffer.read()).map((x) => x + amount));
    },
  };
}
