import { untilAborted } from "./range.js";

/** A stream that is written somewhere, whose own failure is told from the store's: users get it unchanged. */
export class WatchedSource {
  #failure: { readonly error: unknown } | undefined;

  /**
   * The same stream.
   *
   * @param chunks - the stream
   * @param signal - ends it
   */
  async *watch(chunks: AsyncIterable<Uint8Array>, signal: AbortSignal | undefined): AsyncGenerator<Uint8Array> {
    try {
      yield* untilAborted(chunks, signal);
    } catch (error) {
      this.#failure = { error };
      throw error;
    }
  }

  /** Throws what the stream has thrown, if it has. */
  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}
