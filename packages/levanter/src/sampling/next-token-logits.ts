import * as tf from "@tensorflow/tfjs-core";
import { MarinError } from "@marin/iris";
import type { NamedBuffers } from "../checkpoint/write-checkpoint.js";
import { RunQueue } from "../engine/run-queue.js";
import type { BufferGroup, Engine, Program, TensorFunction } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";

/** Tokens of the shortest row that is computed. */
const SHORTEST_ROW = 32;

/** A program for rows of one length, with its buffers. */
interface RowProgram {
  readonly program: Program;
  readonly io: BufferGroup;
}

/**
 * The logits of the token after a text. Each is computed from the text alone, in the shortest row that holds it (32, 64, 128, ... tokens, at most the
 * model's longest): the same text gives the same bits, whatever was computed before or between. Programs are compiled when first needed, and kept.
 */
export class NextTokenLogits {
  readonly #engine: Engine;
  readonly #model: LanguageModel;
  readonly #parameters: NamedBuffers;
  readonly #programs = new Map<number, RowProgram>();
  /** The buffers serve one computation at a time; those that wait get their turns in the order in which they came. */
  readonly #queue = new RunQueue();
  #released = false;

  constructor(engine: Engine, model: LanguageModel, parameters: NamedBuffers) {
    this.#engine = engine;
    this.#model = model;
    this.#parameters = parameters;
  }

  /** The logits after a text of at least one token, float32 [V]. Of a text longer than the model's longest sequence only the end is seen. */
  after(text: readonly number[]): Promise<Float32Array> {
    return this.#queue.run(async () => {
      if (this.#released) throw new MarinError("LEVANTER_RELEASED", "this sampler was released; create another one");
      const window = text.slice(-this.#model.maxSequenceLength);
      const { program, io } = await this.#programFor(window.length);
      const { tokens, position, logits } = io.buffers;
      if (tokens === undefined || position === undefined || logits === undefined) throw new TypeError("the sampler was not set up");
      const padded = new Int32Array(tokens.spec.shape[1] ?? 0);
      padded.set(window);
      tokens.write(padded);
      position.write(Int32Array.of(window.length - 1));
      await program.run({ ...this.#parameters, tokens, position }, { logits });
      return (await logits.read()) as Float32Array;
    });
  }

  /** Releases programs and memory when what was asked for before has been computed. */
  release(): Promise<void> {
    return this.#queue.run(() => {
      this.#released = true;
      for (const { program, io } of this.#programs.values()) {
        program.dispose();
        io.release();
      }
      this.#programs.clear();
      return Promise.resolve();
    });
  }

  async #programFor(tokens: number): Promise<RowProgram> {
    let length = SHORTEST_ROW;
    while (length < tokens) length *= 2;
    length = Math.min(length, this.#model.maxSequenceLength);
    const known = this.#programs.get(length);
    if (known !== undefined) return known;
    const inputs = { tokens: { shape: [1, length], dtype: "int32" }, position: { shape: [1], dtype: "int32" } } as const;
    const program = await this.#engine.compile("next-token-logits", logitsAtPosition(this.#model, length), { ...this.#model.parameters, ...inputs });
    try {
      const io = this.#engine.allocate({ ...inputs, logits: { shape: [1, this.#model.vocabSize], dtype: "float32" } });
      this.#programs.set(length, { program, io });
      return { program, io };
    } catch (error) {
      program.dispose();
      throw error;
    }
  }
}

/** The model's logits at one position of a row of `length` tokens; causal attention makes what lies behind it irrelevant. */
function logitsAtPosition(model: LanguageModel, length: number): TensorFunction {
  return (inputs) => {
    const all = model.logits(inputs)["logits"];
    const { position } = inputs;
    if (all === undefined || position === undefined) throw new TypeError("next-token logits need logits and a position");
    return { logits: tf.gather(tf.reshape(all, [length, model.vocabSize]), position) };
  };
}
