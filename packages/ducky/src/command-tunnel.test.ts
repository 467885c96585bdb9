import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { chmodSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { openKubectlTunnel, openSshTunnel, type KubectlTunnelOptions, type SshTunnelOptions, type Tunnel } from "./index.js";

/** Waits for a condition, however busy the machine is. */
const until: typeof expect.poll = (read) => expect.poll(read, { timeout: 20_000 });

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

function directory(): string {
  const made = mkdtempSync(join(tmpdir(), "ducky-test-"));
  cleanups.push(() => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A server that sends back what it is sent. */
async function echo(): Promise<{ server: Server; port: number }> {
  const server = createServer({ allowHalfOpen: true }, (socket) => socket.on("error", () => undefined).pipe(socket));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  cleanups.push(() => server.close());
  return { server, port: (server.address() as AddressInfo).port };
}

async function exchange(tunnel: { readonly port: number }, bytes: Buffer): Promise<Buffer> {
  const socket = connect({ port: tunnel.port, host: "127.0.0.1", allowHalfOpen: true });
  socket.end(bytes);
  const parts: Buffer[] = [];
  socket.on("data", (part: Buffer) => parts.push(part));
  await once(socket, "end");
  return Buffer.concat(parts);
}

const rejected = async (promise: PromiseLike<unknown>): Promise<Error> => promise.then((value) => Promise.reject(new Error(`it gave ${String(value)}`)), (error: Error) => error);

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  // One that nobody has reaped yet runs no more.
  return !existsSync(`/proc/${pid}/stat`) || !/^\d+ \(.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
}

/** A kubectl that is not one, before all others on the PATH. */
async function fakeKubectl(behaviour = "") {
  const place = directory();
  const log = join(place, "log");
  writeFileSync(log, "");
  const program = join(place, "kubectl");
  writeFileSync(program, `#!/bin/sh\nexec "${process.execPath}" "${fileURLToPath(new URL("../test/fake-kubectl.mjs", import.meta.url))}" "$@"\n`);
  chmodSync(program, 0o755);
  const { port } = await echo();
  const env = { ...process.env, PATH: `${place}${delimiter}${process.env["PATH"] ?? ""}`, FAKE_KUBECTL: behaviour, FAKE_TARGET: String(port), FAKE_LOG: log };
  const starts = (): { args: string[]; pids: number[] }[] => readFileSync(log, "utf8").split("\n").filter((line) => line !== "").map((line) => JSON.parse(line) as { args: string[]; pids: number[] });
  const survivors = (): number[] => starts().flatMap(({ pids }) => pids).filter(alive);
  cleanups.push(() => survivors().forEach((pid) => process.kill(pid, "SIGKILL")));
  const open = async (options: Partial<KubectlTunnelOptions> = {}): Promise<Tunnel> => {
    const tunnel = await openKubectlTunnel({ resource: "service/iris", port: 8080, env, backoff: { initialMs: 10, maxMs: 100 }, graceMs: 300, ...options });
    cleanups.push(() => tunnel.close());
    return tunnel;
  };
  return { env, open, starts, survivors };
}

test("kubectl forwards megabytes; closing leaves no process, not even one that ignores being asked", async () => {
  const { open, starts, survivors } = await fakeKubectl("stubborn");
  const tunnel = await open({ namespace: "ml", context: "prod" });
  const bytes = randomBytes(3_000_000);
  expect((await exchange(tunnel, bytes)).equals(bytes)).toBe(true);
  expect(starts().map(({ args }) => args)).toEqual([["--context=prod", "--namespace=ml", "port-forward", "--address=127.0.0.1", "service/iris", ":8080"]]);
  expect(survivors()).toHaveLength(2);
  await tunnel.close();
  await until(survivors).toEqual([]);
});

test("a program that is killed is started again at another port, behind the same one; what it left over is ended", async () => {
  const { open, starts, survivors } = await fakeKubectl();
  const changes: { state: string; reason?: string }[] = [];
  const tunnel = await open({ onChange: (change) => changes.push(change) });
  for (const round of [1, 2]) {
    process.kill(starts().at(-1)?.pids[0] ?? 0, "SIGKILL");
    await until(() => changes.length).toBe(2 * round);
    expect(await exchange(tunnel, Buffer.from("hello"))).toEqual(Buffer.from("hello"));
    expect(starts()).toHaveLength(round + 1);
    await until(survivors).toEqual(starts().at(-1)?.pids);
  }
  expect(changes).toMatchObject([{ state: "lost", reason: expect.stringContaining("kubectl was ended by SIGKILL") }, { state: "ready" }, { state: "lost" }, { state: "ready" }]);
});

test("a connection made while the program is being started again waits for it", async () => {
  const { open, starts } = await fakeKubectl();
  let lost: () => void = () => undefined;
  const isLost = new Promise<void>((resolve) => (lost = resolve));
  const tunnel = await open({ onChange: ({ state }) => state === "lost" && lost() });
  process.kill(starts()[0]?.pids[0] ?? 0, "SIGKILL");
  await isLost;
  expect(await exchange(tunnel, Buffer.from("patience"))).toEqual(Buffer.from("patience"));
});

test("a program that fails, is not there or is never ready is told with what it said, and leaves nobody behind", async () => {
  expect(await rejected((await fakeKubectl("fails")).open())).toMatchObject({ code: "DUCKY_TUNNEL_FAILED", message: expect.stringContaining('services "nowhere" not found') });
  const { open, env } = await fakeKubectl();
  expect(await rejected(open({ env: { ...env, PATH: "" } }))).toMatchObject({ code: "DUCKY_TUNNEL_FAILED", message: expect.stringContaining("kubectl is not on the PATH") });
  const silent = await fakeKubectl("silent");
  expect(await rejected(silent.open({ startTimeoutMs: 1_000 }))).toMatchObject({ code: "DUCKY_TUNNEL_FAILED", message: expect.stringContaining("not ready within 1000 ms") });
  await until(silent.survivors).toEqual([]);
  const controller = new AbortController();
  const aborted = rejected(silent.open({ signal: controller.signal }));
  await until(() => silent.starts().length).toBeGreaterThan(0);
  const reason = new Error("enough");
  controller.abort(reason);
  expect(await aborted).toBe(reason);
  await until(silent.survivors).toEqual([]);
});

test("names that a program would take for options are refused", async () => {
  expect(await rejected(openSshTunnel({ host: "-oProxyCommand=touch /tmp/x", target: "a:1" }))).toMatchObject({ code: "DUCKY_BAD_TARGET" });
  expect(await rejected(openSshTunnel({ host: "a", target: "a" }))).toMatchObject({ code: "DUCKY_BAD_TARGET" });
  expect(await rejected(openKubectlTunnel({ resource: "--kubeconfig=/tmp/x", port: 1 }))).toMatchObject({ code: "DUCKY_BAD_TARGET" });
  expect(await rejected(openKubectlTunnel({ resource: "pod/a", port: 70_000 }))).toMatchObject({ code: "DUCKY_BAD_TARGET" });
});

test("when its owner is killed with -9, the program ends with it", async () => {
  const { env, starts, survivors } = await fakeKubectl();
  const script = fileURLToPath(new URL("../test/tunnel-owner.ts", import.meta.url));
  const owner = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], { stdio: ["ignore", "pipe", "inherit"], env });
  cleanups.push(() => owner.kill("SIGKILL"));
  await once(owner.stdout, "data");
  expect(starts()).toHaveLength(1);
  expect(survivors()).toHaveLength(2);
  owner.kill("SIGKILL");
  await until(survivors).toEqual([]);
});

const keygen = "ssh-keygen";

function makeKey(path: string): void {
  execFileSync(keygen, ["-q", "-t", "ed25519", "-N", "", "-f", path]);
}

const sshd = ["/usr/sbin/sshd", "/usr/local/sbin/sshd"].find((path) => existsSync(path));

/** Where there is a real ssh, and an sshd that this user can start (root's needs a directory that its package's service makes). */
const canSsh = has("ssh") && has(keygen) && sshd !== undefined && (userInfo().uid !== 0 || existsSync("/run/sshd"));

function has(program: string): boolean {
  return (process.env["PATH"] ?? "").split(delimiter).some((place) => existsSync(join(place, program)));
}

/** A real sshd of this user's, on loopback. */
async function startSshd(): Promise<{ options: Pick<SshTunnelOptions, "host" | "args">; stop: () => void; directory: string }> {
  const place = directory();
  for (const key of ["host_key", "user_key"]) makeKey(join(place, key));
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, "127.0.0.1", resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  writeFileSync(
    join(place, "config"),
    ["ListenAddress 127.0.0.1", `Port ${port}`, `HostKey ${place}/host_key`, `AuthorizedKeysFile ${place}/user_key.pub`, "StrictModes no", "UsePAM no", "PermitRootLogin yes", "PidFile none", "AllowTcpForwarding yes"].join("\n"),
  );
  const server = spawn(sshd ?? "", ["-D", "-e", "-f", join(place, "config")], { stdio: ["ignore", "ignore", "pipe"] });
  let said = "";
  server.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
  cleanups.push(() => server.kill("SIGKILL"));
  await until(() => said).toContain("Server listening");
  const args = ["-F", "none", "-p", String(port), "-i", join(place, "user_key"), "-o", "StrictHostKeyChecking=no", "-o", `UserKnownHostsFile=${place}/known`];
  return { options: { host: `${userInfo().username}@127.0.0.1`, args }, stop: () => server.kill("SIGTERM"), directory: place };
}

const sshDirectories = (): string[] => readdirSync(tmpdir()).filter((name) => name.startsWith("ducky-ssh-"));

test.runIf(canSsh)("through a real sshd: megabytes, a wrong key, and an ssh that is killed", async () => {
  const { options, directory: place } = await startSshd();
  const { port } = await echo();
  const before = sshDirectories();
  const changes: string[] = [];
  const tunnel = await openSshTunnel({ ...options, target: `127.0.0.1:${port}`, backoff: { initialMs: 10 }, onChange: ({ state }) => changes.push(state) });
  cleanups.push(() => tunnel.close());
  const bytes = randomBytes(5_000_000);
  expect((await exchange(tunnel, bytes)).equals(bytes)).toBe(true);
  const clients = (): number[] =>
    readdirSync("/proc")
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((pid) => existsSync(`/proc/${pid}/cmdline`) && readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("ssh\0") && readFileSync(`/proc/${pid}/cmdline`, "utf8").includes(place));
  expect(clients()).toHaveLength(1);
  process.kill(clients()[0] ?? 0, "SIGKILL");
  await until(() => changes).toEqual(["lost", "ready"]);
  expect(await exchange(tunnel, Buffer.from("again"))).toEqual(Buffer.from("again"));
  await tunnel.close();
  await until(clients).toEqual([]);
  makeKey(join(place, "wrong_key"));
  const wrong = (options.args ?? []).map((arg) => (arg.endsWith("user_key") ? join(place, "wrong_key") : arg));
  expect(await rejected(openSshTunnel({ ...options, args: [...wrong, "-o", "IdentitiesOnly=yes"], target: `127.0.0.1:${port}` }))).toMatchObject({ code: "DUCKY_TUNNEL_FAILED", message: expect.stringContaining("Permission denied") });
  expect(sshDirectories()).toEqual(before);
});
