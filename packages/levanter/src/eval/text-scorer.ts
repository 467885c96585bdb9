import { MarinError } from "@marin/iris";
import type { NamedBuffers } from "../checkpoint/write-checkpoint.js";
import { RunQueue } from "../engine/run-queue.js";
import type { Engine } from "../engine/types.js";
import type { LanguageModel } from "../models/language-model.js";
import { LossEvaluator } from "./loss-evaluator.js";

/** Windows of a text that are computed at once, at most. */
const MOST_ROWS = 8;

/** Scores many texts with one model, each for itself: what `evaluateLoss` finds for a token store of that text alone. Texts are scored one after the other. */
export class TextScorer {
  readonly #engine: Engine;
  readonly #model: LanguageModel;
  readonly #parameters: NamedBuffers;
  readonly #evaluators = new Map<number, LossEvaluator>();
  readonly #queue = new RunQueue();
  #released = false;

  /** @param parameters - by name, on the engine; they stay the caller's */
  constructor(engine: Engine, model: LanguageModel, parameters: NamedBuffers) {
    this.#engine = engine;
    this.#model = model;
    this.#parameters = parameters;
  }

  /**
   * Σ −ln p over the tokens of one text, in nats. The last token must be the end-of-text token: it is scored too, and the first token is predicted from it.
   *
   * @throws MarinError LEVANTER_CONFIG when there is no token, or one outside the vocabulary; LEVANTER_INTERRUPTED; LEVANTER_RELEASED
   */
  async score(tokens: ArrayLike<number>, signal?: AbortSignal): Promise<number> {
    const { vocabSize, maxSequenceLength } = this.#model;
    const bad = Array.prototype.find.call(tokens, (token: number) => !Number.isInteger(token) || token < 0 || token >= vocabSize) as number | undefined;
    if (tokens.length === 0 || bad !== undefined) {
      const problem = bad === undefined ? "is empty" : `holds ${String(bad)}, which is no token of a vocabulary of ${String(vocabSize)}`;
      throw new MarinError("LEVANTER_CONFIG", `the text to score ${problem}; it must hold at least its end-of-text token`);
    }
    return this.#queue.run(async () => {
      if (this.#released) throw new MarinError("LEVANTER_RELEASED", "this scorer was released; create another one");
      const evaluator = await this.#evaluatorFor(Math.ceil(tokens.length / maxSequenceLength));
      return evaluator.score(this.#parameters, { tokens, tokenCount: tokens.length }, { signal });
    });
  }

  /** Releases programs and memory when the texts handed in before are scored. */
  release(): Promise<void> {
    return this.#queue.run(() => {
      this.#released = true;
      for (const evaluator of this.#evaluators.values()) evaluator.release();
      this.#evaluators.clear();
      return Promise.resolve();
    });
  }

  /** Computes 1, 2, 4 or 8 windows at once: a short text shall not cost what a long one does. */
  async #evaluatorFor(windows: number): Promise<LossEvaluator> {
    let rows = 1;
    while (rows < windows && rows < MOST_ROWS) rows *= 2;
    const known = this.#evaluators.get(rows);
    if (known !== undefined) return known;
    const evaluator = await LossEvaluator.create(this.#engine, this.#model, rows, this.#model.maxSequenceLength);
    this.#evaluators.set(rows, evaluator);
    return evaluator;
  }
}
