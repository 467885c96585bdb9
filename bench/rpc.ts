import { parseArgs } from "node:util";
import { describeMachine } from "./machine.js";
import { PeerError, runPeer } from "./processes.js";
import { compareSides, summarizeSide, type Calibration, type RpcRow } from "./rpc/comparison.js";
import { IN_FLIGHT, PART_BYTES, type RpcReport } from "./rpc/measure.js";
import { formatRpcRow } from "./rpc/table.js";
import { listing, oneOf, UsageError, wholeNumber } from "./usage.js";

/** The other implementations, by the name that `--peers` takes. */
const PEERS = {
  grpc: { summary: "@grpc/grpc-js with messages by @grpc/proto-loader", program: "grpc-rpc.ts" },
  connect: { summary: "@connectrpc/connect-node over HTTP/2 with @bufbuild/protobuf", program: "connect-rpc.ts" },
} as const;

const NAMES = Object.keys(PEERS) as (keyof typeof PEERS)[];

const OPTIONS = {
  peers: { type: "string", default: NAMES.join(",") },
  rounds: { type: "string", default: "3" },
  seconds: { type: "string", default: "1" },
  json: { type: "boolean", default: false },
} as const;

/** The command's help. */
export const usage = `Usage: pnpm bench rpc [options]

Typed calls of ducky (zod contracts, both ends checked) beside other implementations, each with a client and a server process on loopback:
unary calls with ${IN_FLIGHT} under way, latency of calls one after the other, a server's stream of ${PART_BYTES / 1_024} KiB parts, peak memory.

Peers (--peers):
${listing(NAMES.map((name) => [name, PEERS[name].summary]))}

Options:
  --peers A,B     default: all of them
  --rounds N      processes of each side, in turn (default 3)
  --seconds N     length of each of a process's measurements (default 1)
  --json          print one JSON object instead of tables (with pnpm --silent: nothing else)
  --help          this text`;

/**
 * Measures calls.
 *
 * @param args - the command line after the benchmark's name
 * @returns what to print
 * @throws UsageError; PeerError when ducky's own program fails
 */
export async function bench(args: readonly string[]): Promise<string> {
  const { values } = parse(args);
  const peers = values.peers.split(",").map((name) => oneOf("peers", name, NAMES));
  const settings = { rounds: wholeNumber("rounds", values.rounds, 1), seconds: wholeNumber("seconds", values.seconds, 1) };
  const machine = await describeMachine();
  const rows: RpcRow[] = [];
  for (const peer of peers) rows.push(await measureRow(peer, settings));
  return values.json ? JSON.stringify({ benchmark: "rpc", machine, inFlight: IN_FLIGHT, partBytes: PART_BYTES, ...settings, rows }) : rows.map(formatRpcRow).join("\n\n");
}

async function measureRow(peer: keyof typeof PEERS, { rounds, seconds }: { readonly rounds: number; readonly seconds: number }): Promise<RpcRow> {
  const run = (file: string): Promise<RpcReport> => runPeer(file, ["--seconds", String(seconds)], 1);
  const calibration: Calibration = await runPeer("rpc-calibrate.ts", [], 1);
  const [own, other]: [RpcReport[], RpcReport[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    own.push(await run("ducky-rpc.ts"));
    try {
      other.push(await run(PEERS[peer].program));
    } catch (error) {
      if (!(error instanceof PeerError)) throw error;
      return { peer, unmeasured: error.message };
    }
  }
  return { peer, calibration, ...compareSides(summarizeSide(own), summarizeSide(other)) };
}

function parse(args: readonly string[]): ReturnType<typeof parseArgs<{ options: typeof OPTIONS }>> {
  try {
    return parseArgs({ args: [...args], options: OPTIONS });
  } catch (error) {
    throw new UsageError((error as Error).message);
  }
}
