import { disposed } from "./runtime.js";
import type { Binding, BoundTensors, RuntimeSession } from "./runtime.js";

/** A binding whose memory is let go when it was disposed and no run of it is under way. */
export abstract class ManagedBinding implements Binding {
  readonly #onReleased: () => void;
  #running = 0;
  #disposed = false;
  #released = false;

  constructor(onReleased: () => void) {
    this.#onReleased = onReleased;
  }

  /** Makes the call. */
  protected abstract compute(): Promise<void>;

  /** Lets go of what the binding holds; called once. */
  protected abstract release(): void;

  async run(): Promise<void> {
    if (this.#disposed) throw disposed("binding");
    this.#running += 1;
    try {
      await this.compute();
    } finally {
      this.#running -= 1;
      this.#releaseWhenIdle();
    }
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    this.#releaseWhenIdle();
  }

  #releaseWhenIdle(): void {
    if (!this.#disposed || this.#running > 0 || this.#released) return;
    this.#released = true;
    this.release();
    this.#onReleased();
  }
}

/** A session whose graph is released when it was disposed and no binding of it is left. */
export abstract class ManagedSession implements RuntimeSession {
  readonly #bindings = new Set<Binding>();
  #disposed = false;
  #released = false;

  /** Makes a binding, which calls `onReleased` at its end. */
  protected abstract createBinding(inputs: BoundTensors, outputs: BoundTensors, onReleased: () => void): Binding;

  /** Releases the graph; called once. */
  protected abstract release(): void;

  bind(inputs: BoundTensors, outputs: BoundTensors): Binding {
    if (this.#disposed) throw disposed("session");
    const binding = this.createBinding(inputs, outputs, () => {
      this.#bindings.delete(binding);
      this.#releaseWhenIdle();
    });
    this.#bindings.add(binding);
    return binding;
  }

  dispose(): void {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const binding of this.#bindings) binding.dispose();
    this.#releaseWhenIdle();
  }

  #releaseWhenIdle(): void {
    if (!this.#disposed || this.#released || this.#bindings.size > 0) return;
    this.#released = true;
    this.release();
  }
}
