import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer, type AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** Another program that speaks the protocol. */
export interface Peer extends AsyncDisposable {
  readonly name: string;
  readonly endpoint: string;
}

/** Kept between runs: building them takes minutes. */
const folder = join(tmpdir(), "marin-test-peers");

/** s3rver, an S3 server from npm. */
export async function startS3rver(): Promise<Peer> {
  const directory = await mkdtemp(join(tmpdir(), "rigging-s3rver-"));
  const program = fileURLToPath(import.meta.resolve("s3rver/bin/s3rver.js"));
  const peer = await startProcess("s3rver 3.7.1", (port) => [process.execPath, [program, "--silent", "--directory", directory, "--address", "127.0.0.1", "--port", String(port), "--configure-bucket", "bucket"]]);
  return {
    ...peer,
    [Symbol.asyncDispose]: async () => {
      await peer[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

/** moto, a model of Amazon's services from PyPI; undefined where Python or the package cannot be had. */
export async function startMoto(): Promise<Peer | undefined> {
  const [venv, wanted] = [join(folder, "moto-5.2.5"), "moto[server]==5.2.5"];
  const python = join(venv, "bin/python");
  if (!ran(python, ["-c", "import moto.server"])) {
    const isMade = ran("python3", ["-m", "venv", venv]) && ran(python, ["-m", "pip", "install", "--quiet", wanted]);
    if (!isMade) return undefined;
  }
  const peer = await startProcess("moto 5.2.5", (port) => [python, ["-m", "moto.server", "-H", "127.0.0.1", "-p", String(port)]]);
  await fetch(`${peer.endpoint}/bucket`, { method: "PUT" });
  return peer;
}

/** fake-gcs-server, a Go module; undefined where Go or the module cannot be had. */
export async function startFakeGcs(): Promise<Peer | undefined> {
  const program = join(folder, "fake-gcs-server");
  mkdirSync(folder, { recursive: true });
  if (!existsSync(program) && !ran("go", ["install", "github.com/fsouza/fake-gcs-server@v1.56.1"], { GOBIN: folder })) return undefined;
  const peer = await startProcess("fake-gcs-server 1.56.1", (port) => [program, ["-scheme", "http", "-host", "127.0.0.1", "-port", String(port), "-public-host", `127.0.0.1:${String(port)}`, "-backend", "memory"]]);
  await fetch(`${peer.endpoint}/storage/v1/b`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ name: "bucket" }) });
  return peer;
}

function ran(command: string, given: readonly string[], env: Readonly<Record<string, string>> = {}): boolean {
  return spawnSync(command, given, { env: { ...process.env, ...env }, stdio: "ignore" }).status === 0;
}

async function startProcess(name: string, commandOf: (port: number) => readonly [string, readonly string[]]): Promise<Peer> {
  const reserved = createServer().listen(0, "127.0.0.1");
  await once(reserved, "listening");
  const { port } = reserved.address() as AddressInfo;
  reserved.close();
  await once(reserved, "close");
  const [command, given] = commandOf(port);
  const child = spawn(command, given, { stdio: "ignore" });
  const endpoint = `http://127.0.0.1:${String(port)}`;
  while (child.exitCode === null && !(await fetch(endpoint).then(() => true, () => false))) await new Promise((resolve) => setTimeout(resolve, 100));
  return {
    name,
    endpoint,
    [Symbol.asyncDispose]: async () => {
      const gone = once(child, "exit");
      if (child.exitCode === null && child.signalCode === null && child.kill("SIGKILL")) await gone;
    },
  };
}
