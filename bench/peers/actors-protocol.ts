import { readdirSync, readFileSync } from "node:fs";
import { parseArgs } from "node:util";

/** How much is measured; what comes before each, a fifth of it, does not count. */
export interface ActorsWorkload {
  /** Calls made one after the other. */
  readonly calls: number;
  /** Calls made 64 at a time. */
  readonly callsInFlight: number;
  /** Items of a stream. */
  readonly items: number;
  /** Times that a buffer of 1 MB goes there and back. */
  readonly transfers: number;
}

/** What a process that measures actors prints, as one JSON line. Rates by the second. */
export interface ActorsReport {
  /** What was measured, for people. */
  readonly version: string;
  readonly calls: number;
  readonly callsInFlight: number;
  /** Null where there are no streams. */
  readonly items: number | null;
  readonly transfers: number;
  /** Peak resident memory of the process and of all that it has started. */
  readonly peakBytes: number;
}

/** Calls of one library, to one actor or worker. */
export interface ActorsSide {
  readonly version: string;
  add(a: number, b: number): PromiseLike<number>;
  items?(count: number): AsyncIterable<number>;
  /** There and back, handed over where the library can. */
  roundTrip(bytes: Uint8Array): PromiseLike<Uint8Array>;
  close(): PromiseLike<unknown>;
}

/** Calls under way at a time. */
const IN_FLIGHT = 64;

/** Command line of a measuring process: `--kind process|thread --calls N --in-flight N --items N --transfers N --threads N`. */
export function actorsArguments(): ActorsWorkload & { readonly kind: "process" | "thread" } {
  const { values } = parseArgs({
    options: { kind: { type: "string" }, calls: { type: "string" }, "in-flight": { type: "string" }, items: { type: "string" }, transfers: { type: "string" }, threads: { type: "string" } },
  });
  const [calls, callsInFlight, items, transfers] = [values.calls, values["in-flight"], values.items, values.transfers].map(Number) as [number, number, number, number];
  return { kind: values.kind === "process" ? "process" : "thread", calls, callsInFlight, items, transfers };
}

/** Measures one library and prints the report. */
export async function measureActors(side: ActorsSide, workload: ActorsWorkload): Promise<void> {
  const lanes = async (count: number, width: number, call: () => PromiseLike<unknown>): Promise<void> => {
    let made = 0;
    const lane = async (): Promise<void> => {
      while (made++ < count) await call();
    };
    await Promise.all(Array.from({ length: width }, lane));
  };
  const rate = async (count: number, work: (count: number) => Promise<void>): Promise<number> => {
    await work(Math.ceil(count / 5));
    const start = performance.now();
    await work(count);
    return (count / (performance.now() - start)) * 1000;
  };
  const add = async (): Promise<void> => {
    if ((await side.add(1, 2)) !== 3) throw new Error("the sum is wrong");
  };
  let bytes: Uint8Array = new Uint8Array(1e6).fill(7);
  const report: ActorsReport = {
    version: side.version,
    calls: await rate(workload.calls, (count) => lanes(count, 1, add)),
    callsInFlight: await rate(workload.callsInFlight, (count) => lanes(count, IN_FLIGHT, add)),
    items:
      side.items === undefined
        ? null
        : await rate(workload.items, async (count) => {
            let seen = 0;
            for await (const item of side.items?.(count) ?? []) if (item !== seen++) throw new Error("an item is wrong");
            if (seen !== count) throw new Error("items are missing");
          }),
    transfers: await rate(workload.transfers, async (count) => {
      for (let n = 0; n < count; n += 1) bytes = await side.roundTrip(bytes);
      if (bytes.length !== 1e6 || bytes[999_999] !== 7) throw new Error("the bytes are wrong");
    }),
    peakBytes: peakOfFamily(),
  };
  await side.close();
  process.stdout.write(`${JSON.stringify(report)}\n`);
}

/** Peak resident memory of this process and all below it, added up. */
function peakOfFamily(): number {
  const processes = readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const status = readFileSync(`/proc/${name}/status`, "utf8");
      const field = (key: string): number => Number(new RegExp(`^${key}:\\s*(\\d+)`, "m").exec(status)?.[1] ?? 0);
      return [{ pid: Number(name), parent: field("PPid"), peak: field("VmHWM") * 1024 }];
    } catch {
      return [];
    }
  });
  const total = (pid: number): number => processes.filter(({ parent }) => parent === pid).reduce((sum, child) => sum + total(child.pid), processes.find((each) => each.pid === pid)?.peak ?? 0);
  return total(process.pid);
}
