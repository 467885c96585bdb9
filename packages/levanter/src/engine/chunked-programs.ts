import { MarinError } from "@marin/iris";
import { requireDistinctGroups, requireEqualGroups, requireScalar } from "./buffer-checks.js";
import type { ArenaGroup } from "./arena-group.js";
import { CHUNK_ELEMENTS } from "./compile.js";
import { inputName, outputName } from "./lowering/lower.js";
import type { RunQueue } from "./run-queue.js";
import { AlignedArena } from "./runtime/memory.js";
import type { Binding, BoundTensor, RuntimeSession } from "./runtime/runtime.js";
import { elementCount } from "./shape.js";
import type { BufferGroup, ElementwiseProgram, ReduceProgram, Specs } from "./types.js";

/** What a program over groups needs of its engine. */
export interface ChunkContext {
  readonly queue: RunQueue;
  /** Pieces computed at the same time. Sessions are single-threaded, so results do not depend on it. */
  readonly lanes: number;
  readonly addressOf: ((buffer: ArrayBuffer) => bigint) | undefined;
  /** The group as this engine's own; throws `LEVANTER_FOREIGN_BUFFER` for another engine's. */
  own(group: BufferGroup): ArenaGroup;
  /** Told of each program that was disposed, so that nothing keeps it and its memory. */
  forget(program: { dispose(): void }): void;
}

/** Bindings of one set of groups, one per piece, made at the first run and kept until a group is released. */
interface Prepared {
  readonly bindings: (Binding | undefined)[];
  readonly unsubscribe: readonly (() => void)[];
  released: boolean;
}

/** The binding of one piece, made where it is not there yet. Throws `LEVANTER_RELEASED` when a group was released in the middle of the run. */
function bindingOf(prepared: Prepared, index: number, bind: () => Binding): Binding {
  if (prepared.released) throw new MarinError("LEVANTER_RELEASED", "a buffer group was released while a program ran over it");
  return (prepared.bindings[index] ??= bind());
}

/** Keeps prepared bindings by the groups they belong to. */
class PreparedGroups {
  readonly #entries = new Map<string, Prepared>();

  of(groups: readonly ArenaGroup[], pieces: number): Prepared {
    const key = groups.map((group) => group.id).join(" ");
    let entry = this.#entries.get(key);
    if (entry === undefined) {
      const drop = (): void => this.#drop(key);
      entry = { bindings: Array<Binding | undefined>(pieces).fill(undefined), unsubscribe: groups.map((group) => group.onRelease(drop)), released: false };
      this.#entries.set(key, entry);
    }
    return entry;
  }

  #drop(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    entry.released = true;
    for (const unsubscribe of entry.unsubscribe) unsubscribe();
    for (const binding of entry.bindings) binding?.dispose();
  }

  clear(): void {
    for (const key of [...this.#entries.keys()]) this.#drop(key);
  }
}

/** Runs pieces 0..count-1, piece i in lane i mod lanes; ends when all lanes have ended, then throws the first failure. */
async function inLanes(count: number, lanes: number, piece: (index: number, lane: number) => Promise<void>): Promise<void> {
  const lane = async (at: number): Promise<void> => {
    for (let index = at; index < count; index += lanes) await piece(index, at);
  };
  const ends = await Promise.allSettled(Array.from({ length: Math.min(lanes, count) }, (_, at) => lane(at)));
  const failure = ends.find((end) => end.status === "rejected");
  if (failure !== undefined) throw failure.reason;
}

const scalarSpec = { shape: [], dtype: "float32" } as const;

function vector(data: Float32Array): BoundTensor {
  return { shape: [data.length], dtype: "float32", data };
}

function scratch(context: ChunkContext, specs: Specs): readonly AlignedArena[] {
  return Array.from({ length: context.lanes }, () => new AlignedArena(specs, context.addressOf));
}

/**
 * An element-wise program: one graph over pieces of the groups' whole memory, padding included.
 *
 * Results go to scratch memory and are copied back when the piece's call has ended: the runtime may write a bound output before another
 * node has read the input that it would share memory with.
 */
export class ChunkedElementwise implements ElementwiseProgram {
  readonly #name: string;
  readonly #session: RuntimeSession;
  readonly #groups: readonly string[];
  readonly #inputs: readonly string[];
  readonly #outputs: readonly string[];
  readonly #scalars: AlignedArena;
  readonly #scalarNames: readonly string[];
  readonly #scratch: readonly AlignedArena[];
  readonly #prepared = new PreparedGroups();
  readonly #context: ChunkContext;

  /**
   * @param inputs - names that the compiled graph reads, groups and scalars
   * @param outputs - names of the groups that it replaces
   */
  constructor(name: string, session: RuntimeSession, groups: readonly string[], scalars: readonly string[], inputs: readonly string[], outputs: readonly string[], context: ChunkContext) {
    this.#name = `element-wise program "${name}"`;
    this.#session = session;
    this.#groups = groups;
    this.#inputs = inputs;
    this.#outputs = outputs;
    this.#scalarNames = scalars;
    this.#scalars = new AlignedArena(Object.fromEntries(scalars.map((scalar) => [scalar, scalarSpec])), context.addressOf);
    this.#scratch = scratch(context, Object.fromEntries(outputs.map((output) => [output, { shape: [CHUNK_ELEMENTS], dtype: "float32" }] as const)));
    this.#context = context;
  }

  async run(groups: Readonly<Record<string, BufferGroup>>, scalars: Readonly<Record<string, number>>): Promise<void> {
    requireEqualGroups(this.#name, this.#groups, groups);
    requireDistinctGroups(this.#name, this.#groups, groups);
    const values = this.#scalarNames.map((name) => requireScalar(this.#name, name, scalars));
    await this.#context.queue.run(async () => {
      const own = new Map(this.#groups.map((name) => [name, this.#context.own(groups[name] as BufferGroup)]));
      const flat = new Map([...own].map(([name, group]) => [name, group.arena.flat()]));
      this.#scalarNames.forEach((name, i) => this.#scalars.view(name).fill(values[i] ?? 0));
      const length = [...flat.values()][0]?.length ?? 0;
      const pieces = Math.ceil(length / CHUNK_ELEMENTS);
      const prepared = this.#prepared.of([...own.values()], pieces);
      await inLanes(pieces, this.#context.lanes, async (index, lane) => {
        const from = index * CHUNK_ELEMENTS;
        const to = Math.min(from + CHUNK_ELEMENTS, length);
        await bindingOf(prepared, index, () => this.#bind(flat, from, to, lane)).run();
        for (const output of this.#outputs) flat.get(output)?.set(this.#result(lane, output, to - from), from);
      });
    });
  }

  #bind(flat: ReadonlyMap<string, Float32Array>, from: number, to: number, lane: number): Binding {
    const inputs = this.#inputs.map((name): [string, BoundTensor] => {
      const group = flat.get(name);
      return [inputName(name), group === undefined ? { ...scalarSpec, data: this.#scalars.view(name) } : vector(group.subarray(from, to))];
    });
    const outputs = this.#outputs.map((name): [string, BoundTensor] => [outputName(name), vector(this.#result(lane, name, to - from))]);
    return this.#session.bind(Object.fromEntries(inputs), Object.fromEntries(outputs));
  }

  #result(lane: number, output: string, length: number): Float32Array {
    return (this.#scratch[lane] as AlignedArena).view(output).subarray(0, length) as Float32Array;
  }

  dispose(): void {
    this.#context.forget(this);
    this.#prepared.clear();
    this.#session.dispose();
  }
}

/** A reduction: partial sums in float32 over pieces of each tensor, padding left out, added up in float64 in the order of memory. */
export class ChunkedReduce implements ReduceProgram {
  readonly #name: string;
  readonly #session: RuntimeSession;
  readonly #groups: readonly string[];
  readonly #inputs: readonly string[];
  readonly #scratch: readonly AlignedArena[];
  readonly #prepared = new PreparedGroups();
  readonly #context: ChunkContext;

  /** @param inputs - names of the groups that the compiled graph reads */
  constructor(name: string, session: RuntimeSession, groups: readonly string[], inputs: readonly string[], context: ChunkContext) {
    this.#name = `reduction "${name}"`;
    this.#session = session;
    this.#groups = groups;
    this.#inputs = inputs;
    this.#scratch = scratch(context, { value: scalarSpec });
    this.#context = context;
  }

  async run(groups: Readonly<Record<string, BufferGroup>>): Promise<number> {
    const specs = requireEqualGroups(this.#name, this.#groups, groups);
    return this.#context.queue.run(async () => {
      const own = new Map(this.#groups.map((name) => [name, this.#context.own(groups[name] as BufferGroup)]));
      const pieces = piecesOf(specs);
      const partials = new Float64Array(pieces.length);
      const prepared = this.#prepared.of([...own.values()], pieces.length);
      await inLanes(pieces.length, this.#context.lanes, async (index, lane) => {
        const value = (this.#scratch[lane] as AlignedArena).view("value");
        await bindingOf(prepared, index, () => this.#bind(own, pieces[index] as Piece, value)).run();
        partials[index] = value[0] ?? Number.NaN;
      });
      return partials.reduce((sum, partial) => sum + partial, 0);
    });
  }

  #bind(groups: ReadonlyMap<string, ArenaGroup>, piece: Piece, value: BoundTensor["data"]): Binding {
    const inputs = this.#inputs.map((name): [string, BoundTensor] => {
      const data = (groups.get(name) as ArenaGroup).arena.view(piece.tensor) as Float32Array;
      return [inputName(name), vector(data.subarray(piece.from, piece.to))];
    });
    return this.#session.bind(Object.fromEntries(inputs), { [outputName("value")]: { ...scalarSpec, data: value } });
  }

  dispose(): void {
    this.#context.forget(this);
    this.#prepared.clear();
    this.#session.dispose();
  }
}

/** Elements `from` to `to` of one tensor. */
interface Piece {
  readonly tensor: string;
  readonly from: number;
  readonly to: number;
}

function piecesOf(specs: Specs): readonly Piece[] {
  return Object.entries(specs).flatMap(([tensor, spec]) => {
    const count = elementCount(spec.shape);
    return Array.from({ length: Math.ceil(count / CHUNK_ELEMENTS) }, (_, i) => ({
      tensor,
      from: i * CHUNK_ELEMENTS,
      to: Math.min((i + 1) * CHUNK_ELEMENTS, count),
    }));
  });
}
