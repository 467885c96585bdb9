/** Piscina's side of `pnpm bench actors`: a pool of one thread, which runs functions; it has neither state nor streams. */
import { Piscina } from "piscina";
import { actorsArguments, measureActors } from "./actors-protocol.js";

const { kind: _kind, ...workload } = actorsArguments();
const pool = new Piscina({ filename: new URL("./piscina-worker.mjs", import.meta.url).href, minThreads: 1, maxThreads: 1, concurrentTasksPerWorker: 64 });
await measureActors(
  {
    version: `piscina 5.3.2`,
    add: (a, b) => pool.run([a, b], { name: "add" }) as Promise<number>,
    roundTrip: (bytes) => pool.run(bytes, { name: "echo", transferList: [bytes.buffer as ArrayBuffer] }) as Promise<Uint8Array>,
    close: () => pool.destroy(),
  },
  workload,
);
