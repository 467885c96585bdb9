import type { Echo, RpcClient } from "./peer.js";

/** Calls that are under way at a time. */
export const IN_FLIGHT = 64;

/** Bytes of a stream's part. */
export const PART_BYTES = 65_536;

const WINDOWS = 3;
const WARM_UP_CALLS = 5_000;
const PARTS = 512;
/** Parts between two looks at the clock would be uneven among implementations: one stream is one measurement. */
const LEAST_STREAMS = 2;

/** What an implementation's program prints, as one JSON line. */
export interface RpcReport {
  readonly version: string;
  /** Calls each second with {@link IN_FLIGHT} under way, one value a window. */
  readonly callsPerSecond: readonly number[];
  /** Of calls one after the other, in milliseconds. */
  readonly latency: { readonly p50: number; readonly p99: number; readonly least: number };
  /** 10^6 bytes each second of a server's stream, one value a stream. */
  readonly streamMegabytesPerSecond: readonly number[];
  /** Peak resident memory of the client. */
  readonly peakBytes: number;
  readonly serverPeakBytes: number;
}

/** Measures calls and streams; throws when an answer is not what was sent. */
export async function measure(client: RpcClient, seconds: number): Promise<Pick<RpcReport, "callsPerSecond" | "latency" | "streamMegabytesPerSecond">> {
  await inFlight(client, (calls) => calls < WARM_UP_CALLS);
  const callsPerSecond: number[] = [];
  for (let window = 0; window < WINDOWS; window += 1) {
    const begun = performance.now();
    const until = begun + seconds * 1_000;
    const calls = await inFlight(client, () => performance.now() < until);
    callsPerSecond.push((calls / (performance.now() - begun)) * 1_000);
  }
  const latency = await oneByOne(client, seconds);
  await stream(client);
  const streamMegabytesPerSecond: number[] = [];
  for (const until = performance.now() + seconds * 1_000; streamMegabytesPerSecond.length < LEAST_STREAMS || performance.now() < until; ) streamMegabytesPerSecond.push(await stream(client));
  return { callsPerSecond, latency, streamMegabytesPerSecond };
}

function message(count: number): Echo {
  return { name: "/ada/train-gpt2/0", count, body: "step 1200 loss 3.2145 tokens/s 48211 learning rate 0.0006 gradient norm 1.02 " };
}

async function call(client: RpcClient, count: number): Promise<void> {
  const sent = message(count);
  const { name, count: got, body } = await client.echo(sent);
  if (got !== count || name !== sent.name || body !== sent.body) throw new Error(`call ${count} was answered with ${JSON.stringify({ name, got, body })}`);
}

/** Makes calls as long as it may, so many at a time; gives how many were answered. */
async function inFlight(client: RpcClient, mayGoOn: (calls: number) => boolean): Promise<number> {
  let calls = 0;
  await Promise.all(
    Array.from({ length: IN_FLIGHT }, async () => {
      while (mayGoOn(calls)) await call(client, (calls += 1));
    }),
  );
  return calls;
}

async function oneByOne(client: RpcClient, seconds: number): Promise<RpcReport["latency"]> {
  const times: number[] = [];
  for (let now = performance.now(), until = now + seconds * 1_000; now < until; ) {
    await call(client, times.length);
    const after = performance.now();
    times.push(after - now);
    now = after;
  }
  times.sort((a, b) => a - b);
  const at = (share: number): number => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
  return { p50: at(0.5), p99: at(0.99), least: at(0) };
}

async function stream(client: RpcClient): Promise<number> {
  const begun = performance.now();
  let bytes = 0;
  for await (const part of client.flood({ items: PARTS, bytes: PART_BYTES })) bytes += part.length;
  if (bytes !== PARTS * PART_BYTES) throw new Error(`the stream had ${bytes} bytes`);
  return bytes / (performance.now() - begun) / 1_000;
}
