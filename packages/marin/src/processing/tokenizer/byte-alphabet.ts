/**
 * GPT-2's printable form of the 256 bytes, in which `tokenizer.json` writes tokens: printable Latin-1 characters stand for
 * themselves, the other bytes for U+0100, U+0101, ... in order of their value. The alphabet's order gives the first 256 token ids.
 */
const printable = [...range(0x21, 0x7e), ...range(0xa1, 0xac), ...range(0xae, 0xff)];
const others = [...range(0x00, 0xff)].filter((byte) => !printable.includes(byte));

/** Bytes in the order of their token ids 0 to 255. */
export const alphabetBytes: readonly number[] = [...printable, ...others];

/** Characters in the order of their token ids 0 to 255. */
export const alphabetCharacters: readonly string[] = [
  ...printable.map((byte) => String.fromCharCode(byte)),
  ...others.map((_, index) => String.fromCharCode(0x100 + index)),
];

const byteOfCharacter = new Map(alphabetCharacters.map((character, id) => [character, alphabetBytes[id] as number]));

/** The token id of each byte. */
export const idOfByte: Uint16Array = Uint16Array.from({ length: 256 }, (_, byte) => alphabetBytes.indexOf(byte));

/**
 * The bytes that a token of a byte-level `tokenizer.json` stands for.
 *
 * @param token - the token as written in the file
 * @returns its bytes, or undefined where a character is not of the alphabet
 */
export function tokenBytes(token: string): Uint8Array | undefined {
  const bytes = Array.from(token, (character) => byteOfCharacter.get(character));
  return bytes.includes(undefined) ? undefined : Uint8Array.from(bytes as number[]);
}

function* range(first: number, last: number): Generator<number> {
  for (let value = first; value <= last; value += 1) yield value;
}
