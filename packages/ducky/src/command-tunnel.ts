import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Socket, type NetConnectOpts } from "node:net";
import { tmpdir } from "node:os";
import { join as joinPath } from "node:path";
import { Backoff, pause, type BackoffOptions } from "./backoff.js";
import { ChildGroup, tunnelFailed, type ChildCommand } from "./child-group.js";
import { MarinError } from "./errors.js";
import { formatTarget, listenLocally, parseTarget, track, type Tunnel } from "./tunnel.js";

/** Settings of tunnels through a program. */
export interface CommandTunnelOptions {
  /** Port on this machine's 127.0.0.1. Default: 0, a free one. */
  readonly localPort?: number;
  /** Ends the attempt to open it when aborted. Default: never. */
  readonly signal?: AbortSignal;
  /** Milliseconds that the program may take to be ready, at the start and each time it is started again; a connection waits as long. Default: 30 000. */
  readonly startTimeoutMs?: number;
  /** Pauses before the program is started again. */
  readonly backoff?: BackoffOptions;
  /** Milliseconds that the program, and what it has started, may take to end when asked to, before they are ended by force. Default: 5 000. */
  readonly graceMs?: number;
  /** The program's environment. Default: this process's. */
  readonly env?: NodeJS.ProcessEnv;
  /** Told when the program has ended by itself, with the reason, and when it is ready again. */
  readonly onChange?: (change: { readonly state: "ready" } | { readonly state: "lost"; readonly reason: string }) => void;
}

/** Settings of {@link openSshTunnel}. */
export interface SshTunnelOptions extends CommandTunnelOptions {
  /** What `ssh` connects to: "login.example.org", "ada@10.0.0.7", or a host of its configuration file. */
  readonly host: string;
  /** Where the tunnel leads, seen from that host, as "host:port". */
  readonly target: string;
  /** Further arguments of `ssh`: ["-p", "2222", "-i", "key"]. Default: none. */
  readonly args?: readonly string[];
}

/** Settings of {@link openKubectlTunnel}. */
export interface KubectlTunnelOptions extends CommandTunnelOptions {
  /** What is forwarded to: "service/iris-controller", "pod/worker-0". */
  readonly resource: string;
  /** Its port. */
  readonly port: number;
  /** Default: the context's. */
  readonly namespace?: string;
  /** Default: the current one. */
  readonly context?: string;
}

/**
 * Opens a port on this machine that leads through `ssh` to an address that the host reaches. `ssh` must be able to log in without
 * asking anything; it notices a silent connection within a minute. It is started again when it ends.
 *
 * @throws MarinError DUCKY_BAD_TARGET, DUCKY_TUNNEL_FAILED, DUCKY_LISTEN_FAILED; the signal's reason
 */
export async function openSshTunnel({ host, target, args = [], ...options }: SshTunnelOptions): Promise<Tunnel> {
  requireName(host, "host");
  const address = formatTarget(parseTarget(target));
  // A socket in a directory that only this user reads: no other program can take its place, as it could a port's.
  const directory = await mkdtemp(joinPath(tmpdir(), "ducky-ssh-"));
  const remove = async (): Promise<void> => rm(directory, { recursive: true, force: true });
  const fixed = ["BatchMode=yes", "ExitOnForwardFailure=yes", "ServerAliveInterval=15", "ServerAliveCountMax=3"];
  let starts = 0;
  const forwarder = (): Forwarder => {
    // Another name each time, so that its being there means that this ssh is ready.
    const path = joinPath(directory, String((starts += 1)));
    const command = { program: "ssh", args: ["-N", "-T", ...fixed.flatMap((option) => ["-o", option]), ...args, "-L", `${path}:${address}`, "--", host] };
    return { command, endpoint: (signal) => untilThere(path, signal) };
  };
  try {
    return await openCommandTunnel(options, forwarder, remove);
  } catch (error) {
    await remove();
    throw error;
  }
}

/**
 * Opens a port on this machine that leads through `kubectl port-forward` to a pod or service. It is started again when it ends, which it
 * does when the pod goes.
 *
 * @throws MarinError DUCKY_BAD_TARGET, DUCKY_TUNNEL_FAILED, DUCKY_LISTEN_FAILED; the signal's reason
 */
export async function openKubectlTunnel({ resource, port, namespace, context, ...options }: KubectlTunnelOptions): Promise<Tunnel> {
  requireName(resource, "resource");
  parseTarget(`pod:${port}`);
  const scope = [...(context === undefined ? [] : [`--context=${context}`]), ...(namespace === undefined ? [] : [`--namespace=${namespace}`])];
  const args = [...scope, "port-forward", "--address=127.0.0.1", resource, `:${port}`];
  return openCommandTunnel(
    options,
    () => {
      let found: (endpoint: NetConnectOpts) => void = () => undefined;
      const endpoint = new Promise<NetConnectOpts>((resolve) => (found = resolve));
      const onLine = (line: string): void => {
        const [, digits] = /^Forwarding from 127\.0\.0\.1:(\d+) -> /.exec(line) ?? [];
        if (digits !== undefined) found({ host: "127.0.0.1", port: Number(digits) });
      };
      return { command: { program: "kubectl", args, onLine }, endpoint: () => endpoint };
    },
    () => Promise.resolve(),
  );
}

/** A program to start, and how to learn where it listens. */
interface Forwarder {
  readonly command: Omit<ChildCommand, "env" | "graceMs">;
  readonly endpoint: (signal: AbortSignal) => Promise<NetConnectOpts>;
}

async function openCommandTunnel(options: CommandTunnelOptions, forwarder: () => Forwarder, cleanUp: () => Promise<void>): Promise<Tunnel> {
  const { signal, startTimeoutMs = 30_000, localPort = 0 } = options;
  signal?.throwIfAborted();
  const supervisor = new Supervisor(options, forwarder);
  const onAbort = (): void => void supervisor.close();
  signal?.addEventListener("abort", onAbort);
  try {
    await supervisor.start();
  } catch (error) {
    await supervisor.close();
    signal?.throwIfAborted();
    throw error;
  } finally {
    signal?.removeEventListener("abort", onAbort);
  }
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, pauseOnConnect: true }, (local) => {
    track(sockets, local);
    local.once("error", () => undefined);
    supervisor.endpoint(startTimeoutMs).then(
      (endpoint) => joinSockets(local, track(sockets, connect({ ...endpoint, allowHalfOpen: true }))),
      () => local.resetAndDestroy(),
    );
  });
  let port: number;
  try {
    port = await listenLocally(server, localPort);
  } catch (error) {
    await supervisor.close();
    throw error;
  }
  const close = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    for (const socket of sockets) reset(socket);
    await supervisor.close();
    await Promise.all([closed, cleanUp()]);
  };
  return { host: "127.0.0.1", port, close, [Symbol.asyncDispose]: close };
}

/** Keeps a program running and knows where it listens. */
class Supervisor {
  readonly #options: CommandTunnelOptions;
  readonly #forwarder: () => Forwarder;
  readonly #backoff: Backoff;
  readonly #closing = new AbortController();
  readonly #waiting = new Set<(endpoint: NetConnectOpts) => void>();
  #endpoint: NetConnectOpts | undefined;
  #child: ChildGroup | undefined;
  #running: Promise<void> = Promise.resolve();

  constructor(options: CommandTunnelOptions, forwarder: () => Forwarder) {
    this.#options = options;
    this.#forwarder = forwarder;
    this.#backoff = new Backoff(options.backoff);
  }

  /** Starts the program; fails when it is not ready in time, or ends before. */
  async start(): Promise<void> {
    const child = await this.#startOnce();
    this.#running = this.#supervise(child);
  }

  /** Where it listens, now or within the time. */
  endpoint(timeoutMs: number): Promise<NetConnectOpts> {
    if (this.#endpoint !== undefined) return Promise.resolve(this.#endpoint);
    return new Promise((resolve, reject) => {
      const done = (endpoint: NetConnectOpts): void => {
        clearTimeout(timer);
        this.#closing.signal.removeEventListener("abort", fail);
        this.#waiting.delete(done);
        resolve(endpoint);
      };
      const fail = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        reject(new MarinError("DUCKY_TUNNEL_FAILED", "The tunnel's program is not running."));
      };
      const timer = setTimeout(fail, timeoutMs);
      this.#closing.signal.addEventListener("abort", fail, { once: true });
      this.#waiting.add(done);
    });
  }

  /** Ends the program; it is not started again. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#child?.stop();
    await this.#running;
  }

  async #supervise(first: ChildGroup): Promise<void> {
    const { signal } = this.#closing;
    for (let child = first; ; ) {
      const begun = performance.now();
      const reason = await child.ended;
      this.#endpoint = undefined;
      await child.stop();
      if (signal.aborted) return;
      this.#options.onChange?.({ state: "lost", reason });
      if (performance.now() - begun >= this.#backoff.maxMs) this.#backoff.reset();
      for (;;) {
        await pause(this.#backoff.next(), signal);
        if (signal.aborted) return;
        try {
          child = await this.#startOnce();
          break;
        } catch (error) {
          if (signal.aborted) return;
          this.#options.onChange?.({ state: "lost", reason: (error as Error).message });
        }
      }
      this.#options.onChange?.({ state: "ready" });
    }
  }

  async #startOnce(): Promise<ChildGroup> {
    const { env = process.env, startTimeoutMs = 30_000, graceMs = 5_000 } = this.#options;
    const { command, endpoint } = this.#forwarder();
    const child = new ChildGroup({ ...command, env, graceMs });
    this.#child = child;
    const given = new AbortController();
    const timer = setTimeout(() => given.abort(), startTimeoutMs);
    try {
      const late = new Promise<never>((_resolve, reject) => {
        given.signal.addEventListener("abort", () => reject(tunnelFailed(command.program, `it was not ready within ${startTimeoutMs} ms`)));
      });
      const ended = child.ended.then((reason): never => {
        throw tunnelFailed(command.program, reason);
      });
      const found = await Promise.race([endpoint(given.signal), late, ended]);
      this.#endpoint = found;
      for (const done of [...this.#waiting]) done(found);
      return child;
    } catch (error) {
      await child.stop();
      throw error;
    } finally {
      clearTimeout(timer);
      given.abort();
    }
  }
}

/** Fulfilled when there is a socket of that path; never, when aborted before. */
async function untilThere(path: string, signal: AbortSignal): Promise<NetConnectOpts> {
  while (!signal.aborted) {
    if (existsSync(path)) return { path };
    await pause(20, signal);
  }
  return new Promise(() => undefined);
}

/** Joins two connections; each direction ends by itself, and one that breaks is reset at the other side. */
function joinSockets(near: Socket, far: Socket): void {
  for (const [from, to] of [
    [near, far],
    [far, near],
  ] as const) {
    from.pipe(to);
    from.once("error", () => reset(to));
    from.once("close", () => {
      if (!from.readableEnded) reset(to);
    });
  }
  if (near.destroyed) reset(far);
}

function reset(socket: Socket): void {
  // A socket in the file system cannot be reset.
  if (socket.remoteFamily === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

/** A name that a program cannot take for one of its options. */
function requireName(name: string, field: string): void {
  if (name === "" || name.startsWith("-")) throw new MarinError("DUCKY_BAD_TARGET", `A tunnel's ${field} is a name that does not begin with "-", found "${name}".`, { data: { [field]: name } });
}
