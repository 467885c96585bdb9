import { errorFromWire, errorToWire, type MarinError } from "@marin/ducky";
import type { ActorChannel } from "./channel.js";
import { badMessage, checkMessage, messageKinds, type ActorDescription, type ActorSnapshot } from "./messages.js";
import type { CallReply, StreamSink } from "./target.js";
import { transferListOf } from "./transfer.js";

/** What an open call is told. `lost`: the channel has closed before the answer. */
interface Open {
  readonly result?: CallReply["result"];
  readonly item?: StreamSink["item"];
  readonly end?: StreamSink["end"];
  readonly error: (error: unknown) => void;
  readonly lost: () => void;
}

/** What to tell the maker of a call. */
export type CallListener = Required<Pick<Open, "result" | "error" | "lost">>;

/** What to tell the reader of a stream. */
export type StreamListener = Required<Pick<Open, "item" | "end" | "error" | "lost">>;

/** The calls made over one channel, to the actors at its other end. */
export class ActorCaller {
  /** Fulfilled when the channel has closed; with the cause where it was not a close of either end. */
  readonly closed: Promise<Error | undefined>;
  readonly #channel: ActorChannel;
  readonly #open = new Map<number, Open>();
  readonly #snapshots = new Map<string, (snapshot: ActorSnapshot) => void>();
  #lastId = 0;
  #alive = true;
  #resolveClosed: (cause: Error | undefined) => void = () => undefined;

  constructor(channel: ActorChannel) {
    this.#channel = channel;
    this.closed = new Promise((resolve) => (this.#resolveClosed = resolve));
    channel.onClose((cause) => {
      this.#end(cause);
    });
    channel.onMessage((message) => {
      try {
        this.#receive(message);
      } catch (error) {
        channel.close();
        this.#end(error as MarinError);
      }
    });
  }

  /** Whether calls can be made. */
  get alive(): boolean {
    return this.#alive;
  }

  /** Calls and streams that have not ended. */
  get openCalls(): number {
    return this.#open.size;
  }

  /**
   * Makes a call.
   *
   * @returns its id, for {@link cancel}
   * @throws MarinError FRAY_NOT_CLONABLE, FRAY_MESSAGE_TOO_LARGE, FRAY_BACKLOG, FRAY_NOT_TRANSFERABLE: it was not made
   */
  call(actor: string, method: string, args: readonly unknown[], key: string | undefined, listener: CallListener): number {
    const id = ++this.#lastId;
    this.#channel.send(key === undefined ? [messageKinds.call, id, actor, method, args] : [messageKinds.call, id, actor, method, args, key], transferListOf(args));
    this.#open.set(id, listener);
    return id;
  }

  /** Calls a generator method. Throws as {@link call} does. */
  stream(actor: string, method: string, args: readonly unknown[], window: number, skip: number, listener: StreamListener): number {
    const id = ++this.#lastId;
    this.#channel.send([messageKinds.stream, id, actor, method, args, window, skip], transferListOf(args));
    this.#open.set(id, listener);
    return id;
  }

  /** Ends a call or a stream; its listener is told nothing more. */
  cancel(id: number, reason: unknown): void {
    if (this.#open.delete(id)) this.#channel.send([messageKinds.cancel, id, errorToWire(reason)]);
  }

  /** Lets so many more items come. */
  grant(id: number, items: number): void {
    if (this.#open.has(id)) this.#channel.send([messageKinds.credit, id, items]);
  }

  /** Tells the host that the answer of an idempotent call has arrived. */
  forget(actor: string, key: string): void {
    this.#channel.send([messageKinds.forget, actor, key]);
  }

  /** What the host says of an actor. */
  describe(actor: string): Promise<ActorDescription> {
    return new Promise((resolve, reject) => {
      const id = ++this.#lastId;
      const lost = (): void => {
        void this.closed.then((cause) => {
          reject(cause ?? badMessage("the channel has closed"));
        });
      };
      if (!this.#alive) {
        lost();
        return;
      }
      this.#channel.send([messageKinds.describe, id, actor]);
      this.#open.set(id, { result: (value) => resolve(value as ActorDescription), error: reject, lost });
    });
  }

  /** Sets who keeps an actor's snapshots. */
  onSnapshot(actor: string, keep: ((snapshot: ActorSnapshot) => void) | undefined): void {
    if (keep === undefined) this.#snapshots.delete(actor);
    else this.#snapshots.set(actor, keep);
  }

  close(): void {
    this.#channel.close();
    this.#end(undefined);
  }

  #receive(received: unknown): void {
    const message = checkMessage(received);
    const [kind, id] = message as readonly [number, number, ...unknown[]];
    if (kind === messageKinds.snapshot) {
      this.#snapshots.get(message[1] as string)?.(message[2] as ActorSnapshot);
      return;
    }
    const open = this.#open.get(id);
    // A call that was cancelled needs no answer.
    if (open === undefined) return;
    if (kind === messageKinds.item) {
      if (open.item === undefined) throw badMessage("it is an item of what is no stream");
      open.item(message[2]);
      return;
    }
    this.#open.delete(id);
    if (kind === messageKinds.result && open.result !== undefined) open.result(message[2]);
    else if (kind === messageKinds.error) open.error(errorFromWire(message[2]));
    else if (kind === messageKinds.end && open.end !== undefined) open.end();
    else throw badMessage("it is no answer to that call");
  }

  #end(cause: Error | undefined): void {
    if (!this.#alive) return;
    this.#alive = false;
    this.#resolveClosed(cause);
    const open = [...this.#open.values()];
    this.#open.clear();
    for (const each of open) each.lost();
  }
}
