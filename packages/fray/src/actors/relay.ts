import { callOver } from "./handle.js";
import type { ActorLink } from "./link.js";
import type { ActorDescription, MethodKinds } from "./messages.js";
import { ActorStream } from "./stream.js";
import type { ActorTarget, CallControl, CallReply, CallRequest, StreamControl, StreamRequest, StreamSink } from "./target.js";

/** Offers an actor that is at the end of a link, with the link's rules: what is idempotent finds its way after a restart. */
export class Relay implements ActorTarget {
  readonly #link: ActorLink;
  readonly #methods: MethodKinds;

  constructor(link: ActorLink, methods: MethodKinds) {
    this.#link = link;
    this.#methods = methods;
  }

  describe(): ActorDescription {
    return { methods: this.#methods, incarnation: this.#link.incarnation };
  }

  call({ method, args, key }: CallRequest, reply: CallReply): CallControl {
    const future = callOver(this.#link, method, args, key === undefined ? {} : { idempotent: true }, key);
    future.then(
      (value) => {
        reply.result(value);
      },
      (error: unknown) => {
        reply.error(error);
      },
    );
    return { cancel: (reason) => void future.cancel(reason) };
  }

  stream({ method, args, window, skip }: StreamRequest, sink: StreamSink): StreamControl {
    const stream = new ActorStream(this.#link, method, args, { streamWindow: Math.max(1, window) }, skip);
    let credit = window;
    let reading = false;
    const read = async (): Promise<void> => {
      if (reading) return;
      reading = true;
      try {
        while (credit > 0) {
          const item = await stream.next();
          if (item.done === true) {
            sink.end();
            return;
          }
          credit -= 1;
          sink.item(item.value);
        }
        reading = false;
      } catch (error) {
        sink.error(error);
        await stream.return();
      }
    };
    void read();
    return {
      grant: (items) => {
        credit += items;
        void read();
      },
      cancel: () => {
        credit = 0;
        void stream.return();
      },
    };
  }

  forget(key: string): void {
    this.#link.caller?.forget(this.#link.name, key);
  }
}
