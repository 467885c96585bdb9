import type { BytePairs } from "./bpe-trainer.js";

/** The special token that closes every document. Its characters inside a text are ordinary text. */
export const endOfText = "<|endoftext|>";

/**
 * GPT-2's rule for cutting text into the words inside which tokens are joined (Radford et al. 2019, section 2.2): contractions,
 * letters, digits, other marks, each with the blank before them, and white space.
 */
export const wordPattern = /'(?:[sdmt]|ll|ve|re)| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+/gu;

/**
 * A Hugging Face `tokenizer.json` (format 1.0) of a byte-level BPE tokenizer whose last id is {@link endOfText}.
 *
 * @returns the file's text; equal byte pairs give equal text
 */
export function tokenizerJson({ vocabulary, merges }: BytePairs): string {
  const byteLevel = { type: "ByteLevel", add_prefix_space: false, trim_offsets: true, use_regex: true };
  const endOfTextId = vocabulary.length;
  return `${JSON.stringify(
    {
      version: "1.0",
      truncation: null,
      padding: null,
      added_tokens: [{ id: endOfTextId, content: endOfText, single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }],
      normalizer: null,
      pre_tokenizer: byteLevel,
      post_processor: null,
      decoder: byteLevel,
      model: {
        type: "BPE",
        dropout: null,
        unk_token: null,
        continuing_subword_prefix: null,
        end_of_word_suffix: null,
        fuse_unk: false,
        byte_fallback: false,
        ignore_merges: false,
        vocab: Object.fromEntries([...vocabulary, endOfText].map((token, id) => [token, id])),
        merges,
      },
    },
    null,
    1,
  )}\n`;
}
