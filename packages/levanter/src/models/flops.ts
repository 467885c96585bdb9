import { elementCount } from "../engine/shape.js";
import type { Specs } from "../engine/types.js";

/** What a transformer's floating-point operations are counted from. */
export interface TransformerShape {
  /** L, number of blocks. */
  readonly layers: number;
  /** D, width of the residual stream. */
  readonly hiddenSize: number;
  /** Width inside a block's feed-forward network. */
  readonly intermediateSize: number;
  /** H, attention heads. */
  readonly heads: number;
  /** Heads of keys and values; H without grouping. */
  readonly keyValueHeads: number;
  /** K, width of one head. */
  readonly headSize: number;
  /** True for a gated feed-forward network (SwiGLU), which has three products; false for two. */
  readonly gated: boolean;
  /** V, tokens in the vocabulary. */
  readonly vocabSize: number;
}

/**
 * Floating-point operations of the forward pass, per token: 2 for each multiply-add of the products, attention counted over all T positions (not
 * only the past ones) with 3 operations a score for softmax; embeddings, norms and element-wise functions are not counted.
 *
 * L·(2·m·D·I + 2D(H·K + 2·G·K) + 2D² + 4T·H·K + 3T·H) + 2DV, with I the intermediate width, m its 2 or 3 products and G the heads of keys and values:
 * the count that MFU is commonly given with (Chowdhery et al., PaLM, arXiv:2204.02311, appendix B, with the head and grouped queries counted).
 *
 * @param sequenceLength - T, in tokens
 */
export function forwardFlopsPerToken(shape: TransformerShape, sequenceLength: number): number {
  const { layers, hiddenSize, intermediateSize, heads, keyValueHeads, headSize, gated, vocabSize } = shape;
  const feedForward = 2 * (gated ? 3 : 2) * hiddenSize * intermediateSize;
  const projections = 2 * hiddenSize * (heads + 2 * keyValueHeads) * headSize + 2 * hiddenSize ** 2;
  const attention = 4 * sequenceLength * heads * headSize + 3 * sequenceLength * heads;
  return layers * (feedForward + projections + attention) + 2 * hiddenSize * vocabSize;
}

/** Floating-point operations of one training step, per token: three forward passes, since the backward pass has two products for each. Recomputation is not counted. */
export function trainingFlopsPerToken(shape: TransformerShape, sequenceLength: number): number {
  return 3 * forwardFlopsPerToken(shape, sequenceLength);
}

/** Elements of all parameters; a tied head counts once. */
export function parameterCount(parameters: Specs): number {
  return Object.values(parameters).reduce((sum, { shape }) => sum + elementCount(shape), 0);
}
