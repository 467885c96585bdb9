/** Comlink's side of `pnpm bench actors`: one worker thread, called by its proxy. */
import { Worker } from "node:worker_threads";
import { transfer, wrap, type Endpoint, type Remote } from "comlink";
// @ts-expect-error -- the adapter for Node comes without types under this name
import nodeEndpointUntyped from "comlink/dist/esm/node-adapter.mjs";
import { actorsArguments, measureActors } from "./actors-protocol.js";

interface Exposed {
  add(a: number, b: number): number;
  echo(bytes: Uint8Array): Uint8Array;
  items(to: number): { next(): Promise<IteratorResult<number, void>> };
}

const nodeEndpoint = nodeEndpointUntyped as (worker: Worker) => Endpoint;
const { kind: _kind, ...workload } = actorsArguments();
const worker = new Worker(new URL("./comlink-worker.mjs", import.meta.url));
const remote = wrap<Exposed>(nodeEndpoint(worker)) as unknown as Remote<Exposed>;
await measureActors(
  {
    version: "comlink 4.4.2",
    add: (a, b) => remote.add(a, b),
    async *items(count) {
      const generator = (await remote.items(count)) as unknown as { next(): Promise<IteratorResult<number, void>> };
      for (;;) {
        const item = await generator.next();
        if (item.done === true) return;
        yield item.value;
      }
    },
    roundTrip: (bytes) => remote.echo(transfer(bytes, [bytes.buffer])),
    close: () => worker.terminate(),
  },
  workload,
);
