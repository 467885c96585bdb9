import type { Transport } from "@marin/ducky";
import type { ActorTransport } from "../src/index.js";

/** A way between clients of this process whose connections a test can cut. */
export class CutTransport implements ActorTransport {
  readonly scheme = "cut";
  readonly #accepting = new Map<string, (transport: Transport) => void>();
  readonly #open = new Set<() => void>();
  #last = 0;
  /** Connections made so far. */
  connections = 0;

  async connect(address: string): Promise<Transport> {
    const accept = this.#accepting.get(address);
    if (accept === undefined) throw new Error(`nobody is at ${address}`);
    this.connections += 1;
    const [here, there, cut] = connection();
    this.#open.add(cut);
    accept(there);
    return here;
  }

  async listen(accept: (transport: Transport) => void): Promise<{ address: string; close(): Promise<void> }> {
    const address = `cut://${++this.#last}`;
    this.#accepting.set(address, accept);
    return {
      address,
      close: async () => {
        this.#accepting.delete(address);
        this.cut();
      },
    };
  }

  /** Ends every connection, as a broken line does. */
  cut(): void {
    for (const each of [...this.#open]) each();
    this.#open.clear();
  }
}

function connection(): readonly [Transport, Transport, () => void] {
  const ends = [0, 1].map(() => ({ receive: undefined as ((message: Uint8Array) => void) | undefined, early: [] as Uint8Array[], closed: (_cause?: Error): void => undefined }));
  let open = true;
  const end = (cause?: Error): void => {
    if (!open) return;
    open = false;
    for (const each of ends) queueMicrotask(() => each.closed(cause));
  };
  const transport = (own: number): Transport => {
    const [mine, other] = [ends[own], ends[1 - own]];
    if (mine === undefined || other === undefined) throw new Error("a connection has two ends");
    return {
      send: (message) => {
        const copy = Uint8Array.from(message);
        queueMicrotask(() => {
          if (!open) return;
          if (other.receive === undefined) other.early.push(copy);
          else other.receive(copy);
        });
      },
      onMessage: (receive) => {
        mine.receive = receive;
        for (const message of mine.early.splice(0)) receive(message);
      },
      onClose: (closed) => (mine.closed = closed),
      close: () => queueMicrotask(end),
      bufferedBytes: 0,
    };
  };
  return [transport(0), transport(1), () => end(new Error("the line is cut"))];
}
