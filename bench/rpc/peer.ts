import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { parseArgs } from "node:util";
import { peakBytes, report } from "../peers/protocol.js";
import { measure, type RpcReport } from "./measure.js";

/** What every call carries, and is answered with: about 120 bytes. */
export interface Echo {
  readonly name: string;
  readonly count: number;
  readonly body: string;
}

/** Calls of one implementation. */
export interface RpcClient {
  echo(message: Echo): Promise<Echo>;
  /** A stream of so many parts of so many bytes each. */
  flood(request: { readonly items: number; readonly bytes: number }): AsyncIterable<Uint8Array>;
  close(): unknown;
}

/** One implementation of typed calls. */
export interface RpcPeer {
  /** For people: name and version. */
  readonly version: string;
  /** Serves on a free port of loopback; gives what `connect` takes. */
  serve(): Promise<string>;
  connect(address: string): Promise<RpcClient>;
}

/**
 * Runs an implementation's program: with `--serve` its server, which ends with its standard input; else the client, which starts the former
 * as a process of its own, measures, and prints a report.
 */
export async function runRpcPeer(peer: RpcPeer): Promise<void> {
  const { values } = parseArgs({ options: { serve: { type: "boolean", default: false }, seconds: { type: "string", default: "1" }, threads: { type: "string" } } });
  if (values.serve) return serveUntilInputEnds(peer);
  const server = spawn(process.execPath, [...process.execArgv, process.argv[1] ?? "", "--serve"], { stdio: ["pipe", "pipe", "inherit"] });
  const lines = createInterface(server.stdout)[Symbol.asyncIterator]();
  try {
    const address = String((await lines.next()).value);
    const client = await peer.connect(address);
    const measured = await measure(client, Number(values.seconds));
    await client.close();
    server.stdin.end();
    const serverPeakBytes = Number((await lines.next()).value);
    report({ version: peer.version, ...measured, peakBytes: peakBytes(), serverPeakBytes } satisfies RpcReport);
  } finally {
    server.kill("SIGKILL");
  }
  process.exit();
}

async function serveUntilInputEnds(peer: RpcPeer): Promise<void> {
  process.stdout.write(`${await peer.serve()}\n`);
  process.stdin.resume();
  await once(process.stdin, "end");
  process.stdout.write(`${peakBytes()}\n`, () => process.exit());
}
