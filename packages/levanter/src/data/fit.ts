import { MarinError } from "@marin/iris";
import type { LanguageModel } from "../models/language-model.js";
import type { TokenStore } from "./token-store.js";

/** Throws `LEVANTER_CONFIG` unless the model takes rows of this many tokens. */
export function requireLength(model: LanguageModel, sequenceLength: number): void {
  if (Number.isInteger(sequenceLength) && sequenceLength >= 1 && sequenceLength <= model.maxSequenceLength) return;
  throw new MarinError("LEVANTER_CONFIG", `sequenceLength is ${String(sequenceLength)}; the model takes 1 to ${String(model.maxSequenceLength)} tokens a row`, {
    data: { sequenceLength, longest: model.maxSequenceLength },
  });
}

/** Throws `LEVANTER_CONFIG` unless the model knows every token of the store. */
export function requireVocabulary(model: LanguageModel, store: TokenStore): void {
  if (store.vocabSize <= model.vocabSize) return;
  throw new MarinError(
    "LEVANTER_CONFIG",
    `${store.directory} has a vocabulary of ${String(store.vocabSize)} tokens, the model one of ${String(model.vocabSize)}; change one to fit the other`,
    { data: { directory: store.directory, store: store.vocabSize, model: model.vocabSize } },
  );
}

/** Throws `LEVANTER_TOKENS_EMPTY` when the store holds no text, so that there is no loss per byte. */
export function requireText(store: TokenStore): void {
  if (store.tokenCount > 0 && store.byteCount > 0) return;
  throw new MarinError("LEVANTER_TOKENS_EMPTY", `${store.directory} holds no text to evaluate on; tokenize at least one document into it`, {
    data: { directory: store.directory },
  });
}
