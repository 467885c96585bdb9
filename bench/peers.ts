import type { TrainReport } from "./peers/protocol.js";
import { findPython, runPeer, type PythonSearch } from "./processes.js";

/** Another implementation of the training step. */
export interface Peer {
  readonly summary: string;
  /** True where a step takes several times levanter's: fewer are measured. */
  readonly slow: boolean;
  /** The program under `peers/`, and its arguments besides the workload's. */
  readonly program: string;
  readonly flags?: readonly string[];
  /** The Python package it needs, and in which set-up it is looked for. */
  readonly python?: { readonly module: "torch" | "jax"; readonly setup: "system" | "optional" };
  /** True where the peer computes with one thread whatever it is told. */
  readonly oneThread?: boolean;
}

/** The peers, by the name that `--peers` takes. */
export const PEERS = {
  torch: { summary: "PyTorch eager of the system (Debian's python3-torch)", slow: false, program: "torch_train.py", python: { module: "torch", setup: "system" } },
  "torch-current": { summary: "PyTorch eager of $MARIN_BENCH_PYTHON", slow: false, program: "torch_train.py", python: { module: "torch", setup: "optional" } },
  "torch-compile": { summary: "the same with torch.compile", slow: false, program: "torch_train.py", flags: ["--compile"], python: { module: "torch", setup: "optional" } },
  jax: { summary: "JAX, jit, of $MARIN_BENCH_PYTHON", slow: false, program: "jax_train.py", python: { module: "jax", setup: "optional" } },
  "levanter-wasm": { summary: "levanter's own model run eagerly on tfjs's wasm backend", slow: true, program: "levanter-train.ts", flags: ["--engine", "wasm"], oneThread: true },
  "tfjs-wasm": { summary: "the model in plain tf.* with tfjs's own gradients and Adam, wasm backend", slow: true, program: "tfjs-train.ts", oneThread: true },
  "jax-js": { summary: "the model in jax-js, jit(valueAndGrad), wasm backend", slow: true, program: "jax-js-train.ts", oneThread: true },
} as const satisfies Readonly<Record<string, Peer>>;

export type PeerName = keyof typeof PEERS;

export const PEER_NAMES = Object.keys(PEERS) as readonly PeerName[];

/** Runs a peer's process for some steps, or says why it cannot. */
export type PeerRun = { readonly run: (directory: string, steps: number) => Promise<TrainReport> } | { readonly reason: string };

/** Finds what a peer needs. */
export async function preparePeer(name: PeerName, threads: number): Promise<PeerRun> {
  const peer: Peer = PEERS[name];
  if (peer.oneThread === true && threads > 1) return { reason: `${name} has one thread in Node` };
  const found = peer.python === undefined ? undefined : await findInterpreter(peer.python.module, peer.python.setup);
  if (found !== undefined && "reason" in found) return found;
  const run = (directory: string, steps: number): Promise<TrainReport> => runPeer(peer.program, [directory, "--steps", String(steps), ...(peer.flags ?? [])], threads, found?.python);
  return { run };
}

/** Looks for a Python with the package: the system's, or the optional set-up's. */
export function findInterpreter(module: "torch" | "jax", setup: "system" | "optional"): Promise<PythonSearch> {
  if (setup === "system") return findPython(module, ["python3", "/usr/bin/python3"], `bench/README.md says how to install ${module}`);
  const named = process.env["MARIN_BENCH_PYTHON"] ?? "";
  return findPython(module, named === "" ? [] : [named], `set MARIN_BENCH_PYTHON to a Python with ${module} (bench/README.md)`);
}
