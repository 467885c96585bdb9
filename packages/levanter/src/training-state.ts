import { MarinError } from "@marin/iris";
import type { CheckpointGroups, NamedBuffers } from "./checkpoint/write-checkpoint.js";
import type { Batch } from "./data/batch.js";
import type { BufferGroup, ElementwiseProgram, Engine, Program, ReduceProgram, Specs } from "./engine/types.js";
import { gradientName, lossAndGradients, type LanguageModel } from "./models/language-model.js";
import { ADAMW_GROUPS, ADAMW_SCALARS, adamW, adamWScalars, type AdamWStep } from "./optim/adamw.js";
import { EMA_GROUPS, EMA_SCALARS, emaScalars, updateEma } from "./optim/ema.js";
import { addGradients, sumOfSquares } from "./optim/gradients.js";
import { dropoutMasks, type DropoutSite } from "./rng/dropout.js";
import type { RandomKey } from "./rng/random-key.js";

/** Sizes that a training state is compiled for. */
export interface TrainingShape {
  /** Rows computed at once. */
  readonly microbatchSize: number;
  /** Rows per update at most, a multiple of `microbatchSize`, as every batch's rows are. */
  readonly batchSize: number;
  /** Tokens per row. */
  readonly sequenceLength: number;
}

/** What a training state holds besides parameters and moments, and which parameters it decays. */
export interface TrainingStateOptions {
  /** Keeps an exponential moving average of the parameters, of which each update keeps this share. Default: none. */
  readonly emaBeta?: number | undefined;
  /** Names of the parameters that weight decay reaches. Default: those that the model's rule names. */
  readonly decayed?: readonly string[] | undefined;
}

/** The parameters that share one weight decay, with what belongs to them. All groups have equal layouts. */
interface Partition {
  readonly decayed: boolean;
  readonly parameters: BufferGroup;
  readonly gradients: BufferGroup;
  /** Sum over microbatches; absent where one microbatch is the whole batch. */
  readonly total: BufferGroup | undefined;
  readonly firstMoments: BufferGroup;
  readonly secondMoments: BufferGroup;
  /** Moving average of the parameters, where one is kept. */
  readonly ema: BufferGroup | undefined;
}

/** What gradients say about a batch. */
export interface GradientSummary {
  /** Σ weight · loss / Σ weight over the batch, in nats per token. */
  readonly loss: number;
  /** Norm of the gradient of `loss`, before clipping. */
  readonly gradientNorm: number;
}

/** Parameters, gradients and AdamW moments on an engine, with the programs that move them. Nothing is updated until `update` is called. */
export class TrainingState {
  readonly specs: Specs;
  readonly #sites: Readonly<Record<string, DropoutSite>>;
  readonly parameters: NamedBuffers;
  readonly firstMoments: NamedBuffers;
  readonly secondMoments: NamedBuffers;
  /** Moving average of the parameters, by their names; undefined where none is kept. */
  readonly ema: NamedBuffers | undefined;
  readonly #shape: TrainingShape;
  readonly #emaBeta: number | undefined;
  readonly #partitions: readonly Partition[];
  readonly #io: BufferGroup;
  readonly #gradientTargets: NamedBuffers;
  readonly #totalTargets: NamedBuffers;
  readonly #programs: Programs;

  private constructor(model: LanguageModel, shape: TrainingShape, emaBeta: number | undefined, partitions: readonly Partition[], io: BufferGroup, programs: Programs) {
    this.specs = model.parameters;
    this.#sites = model.regularization?.sites({ batchSize: shape.microbatchSize, sequenceLength: shape.sequenceLength }) ?? {};
    this.#shape = shape;
    this.#emaBeta = emaBeta;
    this.#partitions = partitions;
    this.#io = io;
    this.#programs = programs;
    this.parameters = merge(partitions, (partition) => partition.parameters);
    this.firstMoments = merge(partitions, (partition) => partition.firstMoments);
    this.secondMoments = merge(partitions, (partition) => partition.secondMoments);
    this.ema = emaBeta === undefined ? undefined : merge(partitions, ({ ema, parameters }) => ema ?? parameters);
    this.#gradientTargets = asGradients(merge(partitions, (partition) => partition.gradients));
    this.#totalTargets = asGradients(merge(partitions, (partition) => partition.total ?? partition.gradients));
  }

  /** What a checkpoint keeps: the parameters, AdamW's moments under names such as `first/wte`, the moving average. */
  get groups(): CheckpointGroups {
    const { specs, parameters, firstMoments, secondMoments, ema } = this;
    return {
      parameters: { specs, buffers: parameters },
      optimizer: { specs: { ...prefixed("first", specs), ...prefixed("second", specs) }, buffers: { ...prefixed("first", firstMoments), ...prefixed("second", secondMoments) } },
      ...(ema === undefined ? {} : { ema: { specs, buffers: ema } }),
    };
  }

  /**
   * Compiles the programs and allocates the state, all zeros.
   *
   * @throws MarinError `LEVANTER_CONFIG` for a shape whose sizes are no whole numbers of at least 1, or whose microbatches do not make up a batch
   */
  static async create(engine: Engine, model: LanguageModel, shape: TrainingShape, options: TrainingStateOptions = {}): Promise<TrainingState> {
    requireShape(shape);
    // What was made before a failure goes back to the engine, which may live on.
    const made: (() => void)[] = [];
    try {
      return await TrainingState.#create(engine, model, shape, options, made);
    } catch (error) {
      for (const release of made) release();
      throw error;
    }
  }

  static async #create(engine: Engine, model: LanguageModel, shape: TrainingShape, options: TrainingStateOptions, made: (() => void)[]): Promise<TrainingState> {
    const held = async <T extends { dispose(): void }>(program: Promise<T>): Promise<T> => {
      const compiled = await program;
      made.push(() => { compiled.dispose(); });
      return compiled;
    };
    const allocate = (specs: Specs): BufferGroup => {
      const group = engine.allocate(specs);
      made.push(() => { group.release(); });
      return group;
    };
    const rows = { shape: [shape.microbatchSize, shape.sequenceLength] };
    const masks = model.regularization?.specs({ batchSize: shape.microbatchSize, sequenceLength: shape.sequenceLength }) ?? {};
    const inputs: Specs = { tokens: { ...rows, dtype: "int32" }, targets: { ...rows, dtype: "int32" }, weights: { ...rows, dtype: "float32" }, ...masks };
    const accumulate = shape.batchSize > shape.microbatchSize;
    const { emaBeta, decayed: decayedNames } = options;
    const isDecayed = decayedNames === undefined ? (name: string): boolean => model.isDecayed(name) : (name: string): boolean => decayedNames.includes(name);
    const programs: Programs = {
      gradients: await held(engine.compile("gradients", lossAndGradients(model), { ...model.parameters, ...inputs })),
      accumulate: accumulate ? await held(engine.compileElementwise("accumulate", addGradients, ["total", "gradients"], [])) : undefined,
      norm: await held(engine.compileReduce("gradient-norm", sumOfSquares, ["gradients"])),
      update: await held(engine.compileElementwise("adamw", adamW, ADAMW_GROUPS, ADAMW_SCALARS)),
      average: emaBeta === undefined ? undefined : await held(engine.compileElementwise("ema", updateEma, EMA_GROUPS, EMA_SCALARS)),
    };
    const partitions = [true, false].flatMap((decayed) => {
      const specs = Object.fromEntries(Object.entries(model.parameters).filter(([name]) => isDecayed(name) === decayed));
      if (Object.keys(specs).length === 0) return [];
      return [
        {
          decayed,
          parameters: allocate(specs),
          gradients: allocate(specs),
          total: accumulate ? allocate(specs) : undefined,
          firstMoments: allocate(specs),
          secondMoments: allocate(specs),
          ema: emaBeta === undefined ? undefined : allocate(specs),
        },
      ];
    });
    const io = allocate({ ...inputs, lossSum: { shape: [], dtype: "float32" } });
    return new TrainingState(model, shape, emaBeta, partitions, io, programs);
  }

  /** Sets the parameters, by name; a moving average starts from them. */
  setParameters(values: Readonly<Record<string, Float32Array>>): void {
    for (const [name, buffer] of Object.entries(this.parameters)) {
      const data = values[name];
      if (data === undefined) throw new TypeError(`no initial value for parameter ${name}`);
      buffer.write(data);
      this.ema?.[name]?.write(data);
    }
  }

  /**
   * Computes the summed gradients of a batch, microbatch by microbatch. Parameters and moments stay as they are. Throws `LEVANTER_SHAPE` for a batch that
   * does not consist of microbatches, or is larger than what the state was made for.
   *
   * @param dropout - the key of the step's dropout masks; needed where the model drops activations
   */
  async computeGradients(batch: Batch, dropout?: RandomKey): Promise<GradientSummary> {
    const { microbatchSize, sequenceLength } = this.#shape;
    const rows = this.#rowsOf(batch);
    const { tokens, targets, weights, lossSum } = this.#io.buffers;
    if (tokens === undefined || targets === undefined || weights === undefined || lossSum === undefined) throw new TypeError("the state was not set up");
    const inputs = { ...this.parameters, ...this.#io.buffers };
    let loss = 0;
    let masks = this.#masks(0, dropout);
    for (let row = 0; row < rows; row += microbatchSize) {
      const [start, end] = [row * sequenceLength, (row + microbatchSize) * sequenceLength];
      tokens.write(batch.tokens.subarray(start, end));
      targets.write(batch.targets.subarray(start, end));
      weights.write(batch.weights.subarray(start, end));
      for (const [name, mask] of Object.entries(masks)) this.#io.buffers[name]?.write(mask);
      const outputs = row === 0 ? this.#totalTargets : this.#gradientTargets;
      const running = this.#programs.gradients.run(inputs, { ...outputs, lossSum });
      // The engine computes; meanwhile this thread draws the next masks.
      masks = row + microbatchSize < rows ? this.#masks(row + microbatchSize, dropout) : {};
      await running;
      loss += (await lossSum.read())[0] ?? Number.NaN;
      if (row > 0) await this.#accumulate();
    }
    let squares = 0;
    for (const partition of this.#partitions) squares += await this.#programs.norm.run({ gradients: summed(partition) });
    return { loss: loss / batch.weightSum, gradientNorm: Math.sqrt(squares) / batch.weightSum };
  }

  /** Applies one AdamW update with the gradients computed last, and moves the average after it. `weightDecay` reaches the decayed parameters only. */
  async update(step: AdamWStep): Promise<void> {
    for (const partition of this.#partitions) {
      const { decayed, parameters, firstMoments, secondMoments } = partition;
      const scalars = adamWScalars({ ...step, weightDecay: decayed ? step.weightDecay : 0 });
      await this.#programs.update.run({ parameters, gradients: summed(partition), firstMoments, secondMoments }, scalars);
      if (partition.ema !== undefined && this.#emaBeta !== undefined) await this.#programs.average?.run({ ema: partition.ema, parameters }, emaScalars(this.#emaBeta));
    }
  }

  /** Releases programs and memory. */
  release(): void {
    const { gradients, accumulate, norm, update, average } = this.#programs;
    for (const program of [gradients, accumulate, norm, update, average]) program?.dispose();
    for (const { parameters, gradients: own, total, firstMoments, secondMoments, ema } of this.#partitions) {
      for (const group of [parameters, own, total, firstMoments, secondMoments, ema]) group?.release();
    }
    this.#io.release();
  }

  /** The masks of a microbatch, by name. */
  #masks(first: number, key: RandomKey | undefined): Record<string, Float32Array> {
    if (Object.keys(this.#sites).length === 0) return {};
    if (key === undefined) throw new TypeError("the model drops activations: computeGradients needs the key of the step's masks");
    return dropoutMasks(key, this.#sites, { first, count: this.#shape.microbatchSize });
  }

  #rowsOf(batch: Batch): number {
    const { batchSize, microbatchSize, sequenceLength } = this.#shape;
    const rows = batch.tokens.length / sequenceLength;
    if (rows > 0 && rows <= batchSize && rows % microbatchSize === 0) return rows;
    throw new MarinError(
      "LEVANTER_SHAPE",
      `a batch must have a multiple of ${String(microbatchSize)} rows of ${String(sequenceLength)} tokens, at most ${String(batchSize)}; this one has ${String(rows)}`,
      { data: { rows, microbatchSize, batchSize, sequenceLength } },
    );
  }

  async #accumulate(): Promise<void> {
    for (const { total, gradients } of this.#partitions) {
      if (total !== undefined) await this.#programs.accumulate?.run({ total, gradients }, {});
    }
  }
}

interface Programs {
  readonly gradients: Program;
  readonly accumulate: ElementwiseProgram | undefined;
  readonly norm: ReduceProgram;
  readonly update: ElementwiseProgram;
  readonly average: ElementwiseProgram | undefined;
}

function summed({ total, gradients }: Partition): BufferGroup {
  return total ?? gradients;
}

function merge(partitions: readonly Partition[], group: (partition: Partition) => BufferGroup): NamedBuffers {
  return Object.assign({}, ...partitions.map((partition) => group(partition).buffers)) as NamedBuffers;
}

function prefixed<T>(prefix: string, values: Readonly<Record<string, T>>): Record<string, T> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`${prefix}/${name}`, value]));
}

function asGradients(buffers: NamedBuffers): NamedBuffers {
  return Object.fromEntries(Object.entries(buffers).map(([name, buffer]) => [gradientName(name), buffer]));
}

function requireShape({ batchSize, microbatchSize, sequenceLength }: TrainingShape): void {
  const data = { batchSize, microbatchSize, sequenceLength };
  for (const [name, size] of Object.entries(data)) {
    if (!Number.isSafeInteger(size) || size < 1) throw new MarinError("LEVANTER_CONFIG", `${name} is ${String(size)}; it must be a whole number of at least 1`, { data });
  }
  if (batchSize % microbatchSize === 0) return;
  throw new MarinError("LEVANTER_CONFIG", `microbatchSize is ${String(microbatchSize)}, which does not divide batchSize, ${String(batchSize)}`, { data });
}
