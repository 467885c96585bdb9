import type { ServedModel } from "./served-model.js";

/** How well a model predicts one text. */
export interface TextScore {
  /** Tokens predicted: the text's, and the end of text. */
  readonly tokens: number;
  /** UTF-8 bytes of the text. */
  readonly bytes: number;
  /** Σ −ln p over the tokens. */
  readonly nats: number;
  /** nats / ln 2 / bytes; null for an empty text, whose end alone is predicted. */
  readonly bits_per_byte: number | null;
}

/** Scores texts one after the other, each as a document of its own: the numbers are those of `evaluateLoss` on that document alone. */
export async function scoreTexts({ tokenizer, scorer }: Pick<ServedModel, "tokenizer" | "scorer">, texts: readonly string[], signal?: AbortSignal): Promise<TextScore[]> {
  const scores: TextScore[] = [];
  for (const text of texts) {
    const tokens = [...tokenizer.encode(text), tokenizer.endOfTextId];
    const nats = await scorer.score(tokens, signal);
    const bytes = Buffer.byteLength(text);
    scores.push({ tokens: tokens.length, bytes, nats, bits_per_byte: bytes === 0 ? null : nats / Math.LN2 / bytes });
  }
  return scores;
}
