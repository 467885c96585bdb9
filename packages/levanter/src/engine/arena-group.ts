import { MarinError } from "@marin/iris";
import { requireData } from "./buffer-checks.js";
import type { RunQueue } from "./run-queue.js";
import { AlignedArena } from "./runtime/memory.js";
import type { BufferGroup, EngineBuffer, Specs, TensorData, TensorSpec } from "./types.js";

let nextId = 0;

/** Buffers in one block of host memory, which the compiled engine's native calls read and write in place. */
export class ArenaGroup implements BufferGroup {
  readonly specs: Specs;
  readonly buffers: Readonly<Record<string, ArenaBuffer>>;
  /** Distinguishes groups in cache keys. */
  readonly id = nextId++;
  /** The engine's queue: reading and writing wait for the programs handed in before. */
  readonly queue: RunQueue;
  readonly #releaseListeners = new Set<() => void>();
  #arena: AlignedArena | undefined;

  constructor(specs: Specs, queue: RunQueue, addressOf: ((buffer: ArrayBuffer) => bigint) | undefined) {
    this.specs = specs;
    this.queue = queue;
    this.#arena = new AlignedArena(specs, addressOf);
    this.buffers = Object.fromEntries(Object.entries(specs).map(([name, spec]) => [name, new ArenaBuffer(this, name, spec)]));
  }

  get byteLength(): number {
    return this.#arena?.byteLength ?? 0;
  }

  /** Whether `release` was called. */
  get released(): boolean {
    return this.#arena === undefined;
  }

  /** The memory. Throws `LEVANTER_RELEASED` after `release`. */
  get arena(): AlignedArena {
    if (this.#arena === undefined) throw new MarinError("LEVANTER_RELEASED", "the buffer group was released and can no longer be used");
    return this.#arena;
  }

  /** Calls `listener` when the group is released; returns how to take that back. */
  onRelease(listener: () => void): () => void {
    this.#releaseListeners.add(listener);
    return () => void this.#releaseListeners.delete(listener);
  }

  release(): void {
    this.#arena = undefined;
    for (const listener of this.#releaseListeners) listener();
    this.#releaseListeners.clear();
  }
}

/** One tensor of an {@link ArenaGroup}. */
export class ArenaBuffer implements EngineBuffer {
  readonly spec: TensorSpec;
  readonly group: ArenaGroup;
  readonly name: string;
  /** Distinguishes buffers in cache keys. */
  readonly id = nextId++;

  constructor(group: ArenaGroup, name: string, spec: TensorSpec) {
    this.group = group;
    this.name = name;
    this.spec = spec;
  }

  /** The memory itself. */
  get data(): TensorData {
    return this.group.arena.view(this.name);
  }

  read(): Promise<TensorData> {
    return this.group.queue.run(() => Promise.resolve(this.data.slice()));
  }

  write(data: TensorData): void {
    requireData(this.name, this.spec, data);
    const target = this.data;
    if (!this.group.queue.busy) {
      target.set(data);
      return;
    }
    const copy = data.slice();
    void this.group.queue.run(() => {
      target.set(copy);
      return Promise.resolve();
    });
  }
}
