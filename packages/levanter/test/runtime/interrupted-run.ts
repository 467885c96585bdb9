/**
 * Runs a long graph without end and is interrupted in the middle of a call, in the way that the first argument names. Started by
 * `interruption.test.ts`; ends without a crash if the runtime is sound.
 */
import { isMainThread, parentPort, Worker } from "node:worker_threads";
import { once } from "node:events";
import { koffiRuntime } from "../../src/engine/runtime/koffi-session.js";
import { tinyModel } from "./tiny-model.js";
import type { TinyValue } from "./tiny-model.js";

const extent = 512;
const products = 120;

/** Calls `inMidCall` when a call of some tenths of a second has been under way for a while; never returns. */
async function computeForever(inMidCall: () => void): Promise<never> {
  const value = (name: string): TinyValue => ({ name, dtype: "float32", shape: [extent, extent] });
  const nodes = Array.from({ length: products }, (_, i) => ({ op: "MatMul", inputs: [`t${i}`, "b"], outputs: [`t${i + 1}`] }));
  const session = await koffiRuntime().createSession(tinyModel([value("t0"), value("b")], [value(`t${products}`)], nodes), { threads: 2 });
  const tensor = () => ({ shape: [extent, extent], dtype: "float32", data: new Float32Array(extent * extent) }) as const;
  const binding = session.bind({ t0: tensor(), b: tensor() }, { [`t${products}`]: tensor() });
  setTimeout(inMidCall, 50);
  for (;;) await binding.run();
}

/** Terminates two workers, one after the other, each the only user of the library at its time. */
async function terminateWorkers(): Promise<void> {
  const start = `import(${JSON.stringify(import.meta.resolve("tsx/esm/api"))}).then((tsx) => { tsx.register(); return import(${JSON.stringify(import.meta.url)}); })`;
  for (let i = 0; i < 2; i++) {
    const worker = new Worker(start, { eval: true });
    await once(worker, "message");
    await worker.terminate();
  }
}

if (!isMainThread) {
  await computeForever(() => parentPort?.postMessage("in mid-call"));
} else if (process.argv[2] === "exit") {
  await computeForever(() => process.exit(0));
} else if (process.argv[2] === "throw") {
  await computeForever(() => {
    throw new Error("thrown in mid-call");
  });
} else if (process.argv[2] === "interrupt") {
  await computeForever(() => process.kill(process.pid, "SIGINT"));
} else {
  await terminateWorkers();
}
