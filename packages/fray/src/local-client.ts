import { availableParallelism } from "node:os";
import { isMarinError, MarinError } from "@marin/ducky";
import { makeHandle, type ActorHandle, type ActorRef } from "./actor.js";
import { ActorGroup } from "./actor-group.js";
import { ActorServer } from "./actors/actor-server.js";
import { ActorWorkers } from "./actors/actor-workers.js";
import { webSocketActors, type ActorListener, type ActorTransport } from "./actors/actor-transport.js";
import { ActorCaller } from "./actors/caller.js";
import { ActorCell } from "./actors/cell.js";
import { frameChannel, memoryChannels } from "./actors/channel.js";
import { connectionLimits, Connections } from "./actors/connections.js";
import { HostedLink } from "./actors/hosted-link.js";
import { Relay } from "./actors/relay.js";
import { RemoteLink } from "./actors/remote-link.js";
import { WorkerLink } from "./actors/worker-link.js";
import type { ActorGroupOptions, ActorOptions, Client, GetActorOptions, HostActorOptions, SubmitOptions } from "./client.js";
import { describeEntry, type Entry } from "./entry.js";
import { Future } from "./future.js";
import { WorkerSet } from "./worker-set.js";
import { stopGraceMs } from "./worker/host.js";

/** Settings of a {@link LocalClient}. */
export interface LocalClientOptions {
  /** Shown in errors, and the beginning of its workers' names. Default: "local". */
  readonly name?: string;
  /** Where submitted functions run: processes of their own, or threads of this one. Default: "process". */
  readonly kind?: "process" | "thread";
  /** How many submitted functions run at a time; at least 1. Their workers are started when they are needed. Default: the cores of this machine. */
  readonly workers?: number;
  /** Variables for the workers of submitted functions, beside this process's own. Default: none. */
  readonly env?: Readonly<Record<string, string>>;
  /** How addresses of other clients are reached. Default: WebSockets without a token. */
  readonly transports?: readonly ActorTransport[];
  /** Asked for an actor's address whenever a connection to it has to be made, such as a registry of endpoints. Default: the address of its ref. */
  readonly resolve?: (ref: ActorRef) => string | Promise<string>;
  /** Milliseconds that one attempt to connect may take. Default: 5000. */
  readonly connectTimeoutMs?: number;
  /** Milliseconds after which an idempotent call gives up an address that does not answer. Default: 60 000. */
  readonly unreachableMs?: number;
}

/** How often an idempotent function is run again where its worker is lost. */
const maxReruns = 3;

/** Runs functions and actors in threads and child processes of this one. They end with it, however it ends. */
export class LocalClient implements Client {
  readonly #name: string;
  readonly #functions: WorkerSet;
  readonly #actorWorkers = new ActorWorkers();
  readonly #connections: Connections;
  readonly #server: ActorServer;
  readonly #links = new Map<string, WorkerLink | HostedLink>();
  readonly #remotes = new Set<RemoteLink>();
  readonly #groups = new Set<ActorGroup<unknown>>();
  readonly #listeners: ActorListener[] = [];
  #closing: Promise<void> | undefined;

  /** @throws MarinError FRAY_BAD_CONCURRENCY for fewer workers than 1 */
  constructor(options: LocalClientOptions = {}) {
    const { name = "local", kind = "process", workers = availableParallelism(), env = {} } = options;
    this.#name = name;
    this.#functions = new WorkerSet({ name, kind, size: workers, env });
    this.#server = new ActorServer(`the client "${name}"`);
    this.#connections = new Connections({
      transports: options.transports ?? [webSocketActors()],
      resolve: options.resolve ?? (({ address }) => address),
      connectTimeoutMs: options.connectTimeoutMs ?? 5_000,
      unreachableMs: options.unreachableMs ?? 60_000,
    });
  }

  submit<A extends unknown[], R>(work: Entry<A, R>, args: A, options: SubmitOptions = {}): Future<R> {
    const { signal, timeoutMs, idempotent = false } = options;
    return Future.run(
      async (cancelled) => {
        this.#open();
        const controller = new AbortController();
        const timer = timeoutMs === undefined ? undefined : setTimeout(() => controller.abort(lateFunction(work as Entry, timeoutMs)), timeoutMs);
        const ends = AbortSignal.any([cancelled, controller.signal]);
        const late = new Promise<never>((_, reject) => {
          controller.signal.addEventListener("abort", () => {
            reject(controller.signal.reason as MarinError);
          });
        });
        try {
          for (let again = idempotent ? maxReruns : 0; ; again -= 1) {
            try {
              return (await Promise.race([this.#functions.run(work as Entry, args, ends), late])) as R;
            } catch (error) {
              if (again === 0 || !isMarinError(error, "FRAY_WORKER_LOST") || ends.aborted) throw error;
            }
          }
        } finally {
          clearTimeout(timer);
        }
      },
      signal === undefined ? {} : { signal },
    );
  }

  async createActor<T, A extends unknown[] = unknown[]>(made: Entry<A, T>, args: A, options: ActorOptions): Promise<ActorHandle<T>> {
    return this.#create<T>(made as Entry, args, options, { index: 0, size: 1 });
  }

  createActorGroup<T, A extends unknown[] = unknown[]>(made: Entry<A, T>, args: A | ((index: number) => A), { count, ...options }: ActorGroupOptions): ActorGroup<T> {
    this.#open();
    atLeastOne("count", count);
    const starting = Array.from({ length: count }, async (_, index) => {
      const given = typeof args === "function" ? args(index) : args;
      return this.#create<T>(made as Entry, given, { ...options, name: `${options.name}-${index}` }, { index, size: count });
    });
    const group = new ActorGroup<T>(options.name, starting);
    this.#groups.add(group as ActorGroup<unknown>);
    return group;
  }

  async hostActor<T extends object>(instance: T, options: HostActorOptions): Promise<ActorHandle<T>> {
    this.#open();
    const { name, maxConcurrency = 1, mailboxLimit = 10_000, incarnation = 1 } = options;
    atLeastOne("maxConcurrency", maxConcurrency);
    notNegative("mailboxLimit", mailboxLimit);
    const cell = new ActorCell(instance, { name, incarnation, index: 0, size: 1 }, { maxConcurrency, mailboxLimit, snapshotEvery: Infinity });
    const [here, there] = memoryChannels();
    const link = new HostedLink(name, incarnation, cell, new ActorCaller(here));
    this.#take(name, link);
    this.#server.add(name, cell);
    this.#server.accept(there);
    const stop = async ({ graceMs = stopGraceMs } = {}): Promise<void> => {
      await link.stop(graceMs);
      this.#forget(name, link);
    };
    return makeHandle<T>(link, cell.describe().methods, { ref: () => this.#refOf(name), stop, kill: () => undefined });
  }

  async getActor<T>(ref: ActorRef, { timeoutMs = 10_000, signal }: GetActorOptions = {}): Promise<ActorHandle<T>> {
    this.#open();
    const link = new RemoteLink(ref, this.#connections);
    const timeout = AbortSignal.timeout(timeoutMs);
    const { methods } = await link.find(signal === undefined ? timeout : AbortSignal.any([signal, timeout]), signal);
    this.#remotes.add(link);
    const stop = async (): Promise<void> => {
      link.close();
      this.#remotes.delete(link);
    };
    return makeHandle<T>(link, methods, { ref: () => link.ref, stop, kill: () => undefined });
  }

  /**
   * Offers this client's actors, those there are and those to come, to other processes and machines.
   *
   * @param transport - `webSocketActors({ token })`, or another
   * @returns the address, which handles' `actor.ref()` tell from now on
   * @throws MarinError FRAY_NO_TRANSPORT for a transport that only connects; FRAY_CLIENT_CLOSED; what the transport's `listen` throws
   */
  async listen(transport: ActorTransport): Promise<ActorListener> {
    this.#open();
    if (transport.listen === undefined) throw new MarinError("FRAY_NO_TRANSPORT", `The transport ${transport.scheme}:// only connects: it cannot listen.`, { data: { scheme: transport.scheme } });
    const listener = await transport.listen((accepted) => {
      this.#server.accept(frameChannel(accepted, connectionLimits));
    });
    this.#listeners.push(listener);
    return listener;
  }

  shutdown({ graceMs = stopGraceMs }: { readonly graceMs?: number } = {}): Promise<void> {
    this.#closing ??= (async () => {
      for (const remote of this.#remotes) remote.close();
      this.#connections.close();
      await Promise.all([
        this.#functions.close(graceMs),
        ...[...this.#groups].map((group) => group.stop({ graceMs })),
        ...[...this.#links.values()].map((link) => link.stop(graceMs)),
      ]);
      await Promise.all(this.#listeners.map((listener) => listener.close()));
    })();
    return this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.shutdown();
  }

  async #create<T>(made: Entry, args: readonly unknown[], options: ActorOptions, place: { readonly index: number; readonly size: number }): Promise<ActorHandle<T>> {
    this.#open();
    atLeastOne("maxConcurrency", options.maxConcurrency ?? 1);
    atLeastOne("snapshotEvery", options.snapshotEvery ?? 1);
    for (const option of ["mailboxLimit", "restarts", "restartDelayMs"] as const) notNegative(option, options[option] ?? 0);
    const { name } = options;
    const link = new WorkerLink(made, args, options, place, this.#actorWorkers);
    // Its name is taken before it is ready.
    this.#take(name, link);
    try {
      const methods = await link.start();
      this.#server.add(name, new Relay(link, methods));
      const stop = async ({ graceMs = stopGraceMs } = {}): Promise<void> => {
        await link.stop(graceMs);
        this.#forget(name, link);
      };
      if (this.#closing !== undefined) await stop();
      return makeHandle<T>(link, methods, { ref: () => this.#refOf(name), stop, kill: () => link.kill() });
    } catch (error) {
      this.#forget(name, link);
      throw error;
    }
  }

  #take(name: string, link: WorkerLink | HostedLink): void {
    if (this.#links.has(name)) throw new MarinError("FRAY_DUPLICATE_ACTOR", `There is an actor "${name}" in the client "${this.#name}" already: each needs a name of its own.`, { data: { actor: name } });
    this.#links.set(name, link);
  }

  #forget(name: string, link: WorkerLink | HostedLink): void {
    if (this.#links.get(name) !== link) return;
    this.#links.delete(name);
    this.#server.remove(name);
  }

  #refOf(name: string): ActorRef {
    const [listener] = this.#listeners;
    if (listener !== undefined) return { name, address: listener.address };
    throw new MarinError("FRAY_NOT_LISTENING", `The actor "${name}" has no address: its client listens nowhere. Call listen(webSocketActors()) first.`, { data: { actor: name } });
  }

  #open(): void {
    if (this.#closing !== undefined) throw new MarinError("FRAY_CLIENT_CLOSED", `The client "${this.#name}" is shut down.`, { data: { client: this.#name } });
  }
}

function lateFunction(work: Entry, timeoutMs: number): MarinError {
  return new MarinError("FRAY_TIMEOUT", `${describeEntry(work)} has not ended within ${timeoutMs} ms. It was told to end.`, { data: { ...work, timeoutMs } });
}

function notNegative(option: string, value: number): void {
  if (value >= 0) return;
  throw new MarinError("FRAY_BAD_OPTION", `${option} must be a number of at least 0, found ${String(value)}.`, { data: { option, value } });
}

function atLeastOne(option: string, value: number): void {
  if (Number.isSafeInteger(value) && value >= 1) return;
  throw new MarinError("FRAY_BAD_OPTION", `${option} must be a whole number of at least 1, found ${String(value)}.`, { data: { option, value } });
}
