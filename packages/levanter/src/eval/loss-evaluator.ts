import { MarinError } from "@marin/iris";
import type { NamedBuffers } from "../checkpoint/write-checkpoint.js";
import { closingToken, emptyBatch, fillRow, type TokenSequence } from "../data/batch.js";
import { requireLength, requireText, requireVocabulary } from "../data/fit.js";
import type { TokenStore } from "../data/token-store.js";
import type { BufferGroup, Engine, Program, Specs } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";

/** How well a model predicts a whole token store. */
export interface EvaluationResult {
  /** Σ −ln p over every token of the store, end-of-text tokens included, in nats. */
  readonly lossSum: number;
  /** Tokens predicted: all of the store. */
  readonly tokens: number;
  /** UTF-8 bytes of the text that the tokens stand for. */
  readonly bytes: number;
  /** lossSum / tokens, in nats per token. */
  readonly loss: number;
  /** lossSum / ln 2 / bytes: exact, and comparable across tokenizers. */
  readonly bitsPerByte: number;
}

/** Settings of one evaluation. */
export interface EvaluateOptions {
  /** Stops the evaluation with `LEVANTER_INTERRUPTED`. */
  readonly signal?: AbortSignal | undefined;
  /** Told after every batch how many tokens of how many are done. */
  readonly onProgress?: ((progress: { done: number; total: number; unit: "tokens" }) => void) | undefined;
}

/**
 * Measures the exact loss of a model over whole token stores. The store is cut into windows of `sequenceLength` targets: every token is predicted
 * exactly once, from the tokens of its window before it and the one token before the window. The store's first token is predicted from the
 * end-of-text token, as the first token of every later document is. Windows past the end are padding of weight 0.
 */
export class LossEvaluator {
  readonly #model: LanguageModel;
  readonly #program: Program;
  readonly #io: BufferGroup;
  readonly #rows: number;
  readonly #sequenceLength: number;

  private constructor(model: LanguageModel, program: Program, io: BufferGroup, rows: number, sequenceLength: number) {
    this.#model = model;
    this.#program = program;
    this.#io = io;
    this.#rows = rows;
    this.#sequenceLength = sequenceLength;
  }

  /** Compiles the loss for `batchSize` windows of `sequenceLength` tokens at a time. Throws `LEVANTER_CONFIG` when the model takes no rows so long. */
  static async create(engine: Engine, model: LanguageModel, batchSize: number, sequenceLength: number): Promise<LossEvaluator> {
    requireLength(model, sequenceLength);
    const shape = [batchSize, sequenceLength];
    const inputs: Specs = { tokens: { shape, dtype: "int32" }, targets: { shape, dtype: "int32" }, weights: { shape, dtype: "float32" } };
    const program = await engine.compile("loss", model.loss, { ...model.parameters, ...inputs });
    try {
      const io = engine.allocate({ ...inputs, lossSum: { shape: [], dtype: "float32" } });
      return new LossEvaluator(model, program, io, batchSize, sequenceLength);
    } catch (error) {
      program.dispose();
      throw error;
    }
  }

  /**
   * Scores every token of the store. Throws `LEVANTER_CONFIG` when the store's tokens are not the model's, `LEVANTER_TOKENS_EMPTY` when there is no
   * text, `LEVANTER_INTERRUPTED` when the signal is aborted.
   */
  async evaluate(parameters: NamedBuffers, store: TokenStore, options: EvaluateOptions = {}): Promise<EvaluationResult> {
    requireVocabulary(this.#model, store);
    requireText(store);
    const sum = await this.score(parameters, store, options);
    return {
      lossSum: sum,
      tokens: store.tokenCount,
      bytes: store.byteCount,
      loss: sum / store.tokenCount,
      bitsPerByte: sum / Math.LN2 / store.byteCount,
    };
  }

  /** Σ −ln p over every token of the text, in nats. The last token closes the text; the first is predicted from it. Throws `LEVANTER_INTERRUPTED`. */
  async score(parameters: NamedBuffers, text: TokenSequence, options: EvaluateOptions = {}): Promise<number> {
    const { tokens, targets, weights, lossSum } = this.#io.buffers;
    if (tokens === undefined || targets === undefined || weights === undefined || lossSum === undefined) throw new TypeError("the evaluator was not set up");
    const initialToken = closingToken(text);
    const total = text.tokenCount;
    let sum = 0;
    let done = 0;
    while (done < total) {
      if (options.signal?.aborted === true) throw new MarinError("LEVANTER_INTERRUPTED", `evaluation stopped after ${String(done)} of ${String(total)} tokens`);
      const batch = emptyBatch(this.#rows, this.#sequenceLength);
      for (let row = 0; row < this.#rows; row++) done += fillRow(batch, row, this.#sequenceLength, text, done, initialToken);
      tokens.write(batch.tokens);
      targets.write(batch.targets);
      weights.write(batch.weights);
      await this.#program.run({ ...parameters, tokens, targets, weights }, { lossSum });
      sum += (await lossSum.read())[0] ?? Number.NaN;
      options.onProgress?.({ done, total, unit: "tokens" });
    }
    return sum;
  }

  /** Releases program and memory. */
  release(): void {
    this.#program.dispose();
    this.#io.release();
  }
}

/** What {@link evaluateLoss} measures. */
export interface EvaluateLossRun extends EvaluateOptions {
  readonly engine: Engine;
  readonly model: LanguageModel;
  /** Parameters by name, on the engine. */
  readonly parameters: NamedBuffers;
  readonly store: TokenStore;
  /** Tokens a window: the longest context a prediction has. Default: the model's longest. */
  readonly sequenceLength?: number | undefined;
  /** Windows computed at once. Default 8. */
  readonly batchSize?: number | undefined;
}

/** Measures one token store once. See {@link LossEvaluator}. */
export async function evaluateLoss(run: EvaluateLossRun): Promise<EvaluationResult> {
  const { engine, model, parameters, store, sequenceLength = model.maxSequenceLength, batchSize = 8 } = run;
  const evaluator = await LossEvaluator.create(engine, model, batchSize, sequenceLength);
  try {
    return await evaluator.evaluate(parameters, store, run);
  } finally {
    evaluator.release();
  }
}
