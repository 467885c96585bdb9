import { move } from "piscina";

/** Piscina runs functions, not actors: two of them. */
export function add([a, b]) {
  return a + b;
}

export function echo(bytes) {
  return move(bytes);
}
