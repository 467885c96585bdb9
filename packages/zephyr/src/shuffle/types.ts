/**
 * What records can be grouped and sorted by. Keys are equal when their canonical bytes are: numbers by value, so that 1 and 1n are
 * one key, as are 0 and -0; NaN equals itself; objects whatever the order of their fields; dates by their time. Order: null, false,
 * true, numbers by value (NaN last), dates, text by code point, bytes, arrays element by element, objects.
 */
export type ShuffleKey = null | boolean | number | bigint | string | Date | Uint8Array | readonly ShuffleKey[] | { readonly [field: string]: ShuffleKey };
