import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);

/** Longest time that one process may take. */
const TIMEOUT_MINUTES = 15;

/** Another program could not be run, or did not print what was expected. The message says why, in one line. */
export class PeerError extends Error {
  override readonly name = "PeerError";
}

/** A Python interpreter with a package, or the reason why there is none. */
export type PythonSearch = { readonly python: string; readonly version: string } | { readonly reason: string };

/**
 * Runs one of the programs under `peers/` and returns the JSON it prints last. `.py` files run under `python`, others under this Node, with
 * `nodeFlags` besides its own.
 */
export async function runPeer<Report>(file: string, args: readonly string[], threads: number, python?: string, nodeFlags: readonly string[] = []): Promise<Report> {
  const path = fileURLToPath(new URL(`./peers/${file}`, import.meta.url));
  const [program, options] = python === undefined ? [process.execPath, [...process.execArgv, ...nodeFlags, path]] : [python, [path]];
  try {
    const { stdout } = await run(program, [...options, ...args, "--threads", String(threads)], {
      env: peerEnvironment(process.env, threads),
      maxBuffer: 1 << 26,
      timeout: TIMEOUT_MINUTES * 60_000,
      killSignal: "SIGKILL",
    });
    return JSON.parse(stdout.trimEnd().split("\n").at(-1) ?? "") as Report;
  } catch (error) {
    const killed = (error as { readonly killed?: boolean }).killed === true;
    throw new PeerError(`${file} ${killed ? `took longer than ${TIMEOUT_MINUTES} minutes` : `failed: ${failure(error)}`}`, { cause: error });
  }
}

/** The environment of a measured program: so many threads, and the matrix kernel that OpenBLAS itself takes for this processor. */
export function peerEnvironment(inherited: NodeJS.ProcessEnv, threads: number): NodeJS.ProcessEnv {
  const { OPENBLAS_CORETYPE: _forced, OPENBLAS_L2_SIZE: _size, ...rest } = inherited;
  const count = String(threads);
  return { ...rest, OMP_NUM_THREADS: count, OPENBLAS_NUM_THREADS: count, MKL_NUM_THREADS: count, PYTHONDONTWRITEBYTECODE: "1" };
}

/** Looks for an interpreter that can import `module`, in the given order. `cure` says what to do where none can. */
export async function findPython(module: string, interpreters: readonly string[], cure: string): Promise<PythonSearch> {
  const tried: string[] = [];
  for (const python of interpreters) {
    try {
      const { stdout } = await run(python, ["-c", `import ${module}; print(getattr(${module}, "__version__", ""))`]);
      return { python, version: stdout.trim() };
    } catch (error) {
      tried.push(`${python}: ${failure(error)}`);
    }
  }
  return { reason: tried.length === 0 ? cure : `${tried.join("; ")}; ${cure}` };
}

/** The line that says what went wrong: an error's own, since Node prints a stack after it, else the last. */
export function failure(error: unknown): string {
  const failed = error as { stderr?: unknown; message?: unknown };
  const text = typeof failed.stderr === "string" && failed.stderr.trim() !== "" ? failed.stderr : String(failed.message ?? error);
  const lines = text.trimEnd().split("\n");
  // Node prints errors without a stack in brackets.
  const found = lines.findLast((line) => /^\[?[\w.]*(Error|Exception)\b/.test(line)) ?? lines.at(-1) ?? "";
  return found.replace(/^\[(.*?)\]?$/, "$1");
}
