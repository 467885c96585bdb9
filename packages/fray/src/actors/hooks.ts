/**
 * Name of the method by which an actor gives its state, plain data, after a call has ended: what it gives is handed to {@link actorRestore} of the next
 * incarnation. `[actorSnapshot]() { return this.#count; }`
 */
export const actorSnapshot: unique symbol = Symbol.for("marin.fray.snapshot");

/** Name of the method that takes the state of the incarnation before, once after the constructor: `[actorRestore](state: number) { this.#count = state; }` */
export const actorRestore: unique symbol = Symbol.for("marin.fray.restore");
