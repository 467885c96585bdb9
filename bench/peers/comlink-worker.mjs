import { parentPort } from "node:worker_threads";
import * as Comlink from "comlink";
import nodeEndpoint from "comlink/dist/esm/node-adapter.mjs";

async function* count(to) {
  for (let n = 0; n < to; n += 1) yield n;
}

Comlink.expose(
  {
    add: (a, b) => a + b,
    echo: (bytes) => Comlink.transfer(bytes, [bytes.buffer]),
    // Comlink has no streams: a generator is called through its proxy, once for each item.
    items: (to) => Comlink.proxy(count(to)),
  },
  nodeEndpoint(parentPort),
);
