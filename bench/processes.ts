import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Another program could not be run, or did not print what was expected. The message says why, in one line. */
export class PeerError extends Error {
  override readonly name = "PeerError";
}

/** A Python interpreter with PyTorch, or the reason why there is none. */
export type PythonSearch = { readonly python: string; readonly version: string } | { readonly reason: string };

/** Runs one of the programs under `peers/` and returns the JSON it prints last. `.py` files run under `python`, others under this Node. */
export async function runPeer<Report>(file: string, args: readonly string[], threads: number, python?: string): Promise<Report> {
  const path = fileURLToPath(new URL(`./peers/${file}`, import.meta.url));
  const [program, options] = python === undefined ? [process.execPath, [...process.execArgv, path]] : [python, [path]];
  const env = { ...process.env, OMP_NUM_THREADS: String(threads), OPENBLAS_NUM_THREADS: String(threads) };
  try {
    const { stdout } = await run(program, [...options, ...args, "--threads", String(threads)], { env, maxBuffer: 1 << 26 });
    return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Report;
  } catch (error) {
    throw new PeerError(`${file} failed: ${lastLine(error)}`, { cause: error });
  }
}

/** Looks for PyTorch: `MARIN_BENCH_PYTHON` if it is set, otherwise `python3` of the path, then Debian's. */
export async function findTorch(): Promise<PythonSearch> {
  const named = process.env["MARIN_BENCH_PYTHON"];
  const tried: string[] = [];
  for (const python of named === undefined || named === "" ? ["python3", "/usr/bin/python3"] : [named]) {
    try {
      const { stdout } = await run(python, ["-c", "import torch; print(torch.__version__)"]);
      return { python, version: stdout.trim() };
    } catch (error) {
      tried.push(`${python}: ${lastLine(error)}`);
    }
  }
  return { reason: `no Python with PyTorch (${tried.join("; ")}); bench/README.md says how to install it` };
}

function lastLine(error: unknown): string {
  const failed = error as { stderr?: unknown; message?: unknown };
  const text = typeof failed.stderr === "string" && failed.stderr.trim() !== "" ? failed.stderr : String(failed.message ?? error);
  return text.trimEnd().split("\n").at(-1) ?? "";
}
