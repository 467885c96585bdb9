import { readFile } from "node:fs/promises";
import { MarinError } from "@marin/rigging";
import { Kitoken } from "kitoken/node";
import { z } from "zod";
import { tokenBytes } from "./byte-alphabet.js";
import { endOfText } from "./tokenizer-file.js";

/** The parts of a byte-level BPE `tokenizer.json` that are read here; kitoken reads the rest. */
const tokenizerFile = z.object({
  added_tokens: z.array(z.object({ id: z.int().min(0), content: z.string() })),
  model: z.object({ type: z.literal("BPE"), vocab: z.record(z.string(), z.int().min(0)) }),
});

/** A byte-level BPE tokenizer: every text has tokens, and its tokens give the text back. */
export interface Tokenizer {
  /** Number of token ids, special tokens included; ids are below it. */
  readonly vocabSize: number;
  /** The token that closes a document. */
  readonly endOfTextId: number;
  /** The tokens of a text. Special tokens are never read from the text: `<|endoftext|>` in it is ordinary text. */
  encode(text: string): Uint32Array;
  /** The UTF-8 bytes that tokens stand for; special tokens stand for none. Tokens can end inside a character. */
  decodeBytes(ids: ArrayLike<number>): Uint8Array;
  /** The text that tokens stand for; bytes that are no whole character become U+FFFD. */
  decode(ids: ArrayLike<number>): string;
  /** Number of UTF-8 bytes that tokens stand for. */
  byteLength(ids: ArrayLike<number>): number;
}

/**
 * Opens a Hugging Face `tokenizer.json` of a byte-level BPE tokenizer.
 *
 * @param path - the file
 * @throws MarinError MARIN_TOKENIZER_UNREADABLE when it cannot be read, MARIN_TOKENIZER_INVALID naming what is wrong in it
 */
export async function loadTokenizer(path: string): Promise<Tokenizer> {
  const bytes = await readFile(path).catch((cause: unknown) => {
    throw new MarinError("MARIN_TOKENIZER_UNREADABLE", `The tokenizer file ${path} cannot be read.`, { data: { path }, cause });
  });
  const invalid = (reason: string, cause?: unknown): MarinError =>
    new MarinError("MARIN_TOKENIZER_INVALID", `${path} is not a byte-level BPE tokenizer.json: ${reason}. Train the tokenizer again.`, { data: { path }, cause });
  let file: z.output<typeof tokenizerFile>;
  let kitoken: Kitoken;
  try {
    file = tokenizerFile.parse(JSON.parse(bytes.toString("utf8")));
    kitoken = Kitoken.from_tokenizers(bytes);
  } catch (cause) {
    throw invalid(cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause), cause);
  }
  const pieces: (Uint8Array | undefined)[] = [];
  for (const [token, id] of Object.entries(file.model.vocab)) pieces[id] = tokenBytes(token);
  for (const { id } of file.added_tokens) pieces[id] = new Uint8Array();
  for (let id = 0; id < pieces.length; id += 1) {
    if (pieces[id] === undefined) throw invalid(`token ${String(id)} is missing or not of the byte-level alphabet`);
  }
  const endOfTextId = file.added_tokens.find(({ content }) => content === endOfText)?.id;
  if (endOfTextId === undefined) throw invalid(`there is no special token ${endOfText}`);
  return new BytePairTokenizer(kitoken, pieces as Uint8Array[], endOfTextId);
}

class BytePairTokenizer implements Tokenizer {
  readonly endOfTextId: number;
  readonly #kitoken: Kitoken;
  readonly #pieces: readonly Uint8Array[];

  constructor(kitoken: Kitoken, pieces: readonly Uint8Array[], endOfTextId: number) {
    this.#kitoken = kitoken;
    this.#pieces = pieces;
    this.endOfTextId = endOfTextId;
  }

  get vocabSize(): number {
    return this.#pieces.length;
  }

  encode(text: string): Uint32Array {
    return this.#kitoken.encode(text, false);
  }

  decodeBytes(ids: ArrayLike<number>): Uint8Array {
    const bytes = new Uint8Array(this.byteLength(ids));
    let length = 0;
    for (let i = 0; i < ids.length; i += 1) {
      const piece = this.#piece(ids[i] as number);
      bytes.set(piece, length);
      length += piece.length;
    }
    return bytes;
  }

  decode(ids: ArrayLike<number>): string {
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(this.decodeBytes(ids));
  }

  byteLength(ids: ArrayLike<number>): number {
    let length = 0;
    for (let i = 0; i < ids.length; i += 1) length += this.#piece(ids[i] as number).length;
    return length;
  }

  #piece(id: number): Uint8Array {
    const piece = this.#pieces[id];
    if (piece === undefined) {
      throw new MarinError("MARIN_TOKEN_RANGE", `There is no token ${String(id)}: ids are integers below ${String(this.vocabSize)}.`, { data: { id, vocabSize: this.vocabSize } });
    }
    return piece;
  }
}
