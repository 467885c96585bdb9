/**
 * Values of one frame at most. A value of a byte (an empty array) takes forty in memory, so that without this bound a message that is not
 * too large could still fill it.
 */
export const maxValues = 2 ** 22;

/** Bytes that follow the first one of a value, by that byte from 0xc0 on; below 0 the length itself stands in so many bytes, with so many more of header. */
const tails: readonly (number | readonly [lengthBytes: number, more: number])[] = [
  0, 0, 0, 0, [1, 0], [2, 0], [4, 0], [1, 1], [2, 1], [4, 1], 4, 8, 1, 2, 4, 8, //
  1, 2, 4, 8, 2, 3, 5, 9, 17, [1, 0], [2, 0], [4, 0], 2, 4, 2, 4,
];

/** How many values, keys included, a MessagePack value of the bytes from `start` to `end` is made of; counts no further than needed to tell that it is too many. */
export function countValues(bytes: Buffer | Uint8Array, start: number, end: number): number {
  let count = 0;
  let at = start;
  while (at < end && count <= maxValues) {
    count += 1;
    const token = bytes[at] ?? 0;
    at += 1;
    if (token >= 0xa0 && token < 0xc0) at += token - 0xa0;
    else if (token >= 0xc0 && token < 0xe0) {
      const tail = tails[token - 0xc0] ?? 0;
      if (typeof tail === "number") at += tail;
      else {
        let length = 0;
        for (let digit = 0; digit < tail[0]; digit += 1) length = length * 256 + (bytes[at + digit] ?? 0);
        at += tail[0] + tail[1] + length;
      }
    }
  }
  return count;
}
