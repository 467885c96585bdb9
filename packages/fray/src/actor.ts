import { isMarinError, MarinError } from "@marin/ducky";
import { describeEntry, entry, type Entry } from "./entry.js";
import type { FrayWorkerOptions } from "./fray-worker.js";
import { Future } from "./future.js";
import type * as server from "./worker/actor-server.js";
import { stopGraceMs, WorkerHost } from "./worker/host.js";

/** Settings of {@link createActor}. */
export type ActorOptions = Omit<FrayWorkerOptions, "detached" | "signal">;

type AnyMethod = (...args: never[]) => unknown;

type ActorMethod<F> = F extends (...args: infer A) => infer R
  ? [R] extends [never]
    ? (...args: A) => Future<never>
    : R extends AsyncIterable<infer I> | Generator<infer I>
      ? (...args: A) => AsyncGenerator<I, void, void>
      : (...args: A) => Future<Awaited<R>>
  : never;

/**
 * An object in a worker, as seen from here: each method gives a {@link Future}, each generator method an asynchronous
 * generator. Disposing of it stops the worker.
 */
export type ActorHandle<T> = { readonly [K in keyof T as T[K] extends AnyMethod ? K : never]: ActorMethod<T[K]> } & AsyncDisposable;

const serverModule = new URL(import.meta.url.endsWith(".ts") ? "./worker/actor-server.ts" : "./worker/actor-server.js", import.meta.url);

/**
 * Makes an object in a worker of its own. Its methods run one at a time, in the order of the calls, each at most once:
 * a call that fails because the worker died is not made again. Between two items of a generator other calls have their turn.
 *
 * Besides what they throw, methods fail with MarinError FRAY_ACTOR_UNAVAILABLE when the worker has died or was stopped (`data` and `cause`
 * say how; whether the method had begun or ended is not known then), FRAY_CANCELLED, FRAY_NOT_CLONABLE.
 *
 * @param named - `entry<typeof Counter>(import.meta.url, "Counter")`: an exported class, or function that makes the object
 * @param args - of the constructor or function
 * @throws MarinError FRAY_BAD_ACTOR, FRAY_WORKER_LOST; what the constructor throws
 */
export async function createActor<T, A extends unknown[] = unknown[]>(named: Entry<A, T>, args: A, options: ActorOptions): Promise<ActorHandle<T>> {
  const { kind, name, env = {} } = options;
  const host = new WorkerHost({
    kind,
    name,
    env,
    detached: false,
    onStdout: options.onStdout ?? ((line) => process.stdout.write(`${line}\n`)),
    onStderr: options.onStderr ?? ((line) => process.stderr.write(`${line}\n`)),
  });
  const stop = async (): Promise<void> => void (await host.stop(stopGraceMs));
  try {
    await host.ready();
    const kinds = (await host.run(serverEntry("create"), [named, args])) as server.MethodKinds;
    const client = new ActorClient(host, `actor "${name}" (${describeEntry(named as Entry)})`);
    const methods = Object.entries(kinds).map(([method, answers]) => [
      method,
      answers === "call" ? (...given: unknown[]) => client.call(method, given) : (...given: unknown[]) => client.stream(method, given),
    ]);
    return Object.freeze({ ...Object.fromEntries(methods), [Symbol.asyncDispose]: stop }) as ActorHandle<T>;
  } catch (error) {
    await stop();
    throw error;
  }
}

function serverEntry(name: keyof typeof server): Entry {
  return entry(serverModule, name);
}

class ActorClient {
  readonly #host: WorkerHost;
  readonly #who: string;
  #lastStream = 0;

  constructor(host: WorkerHost, who: string) {
    this.#host = host;
    this.#who = who;
  }

  call(method: string, args: unknown[]): Future<unknown> {
    return Future.run((signal) => this.#run(method, "invoke", [method, args], signal));
  }

  async *stream(method: string, args: unknown[]): AsyncGenerator<unknown, void, void> {
    const id = ++this.#lastStream;
    await this.#run(method, "open", [id, method, args]);
    let finished = false;
    try {
      for (;;) {
        const result = (await this.#run(method, "next", [id])) as IteratorResult<unknown>;
        if (result.done === true) {
          finished = true;
          return;
        }
        yield result.value;
      }
    } catch (error) {
      finished = true;
      throw error;
    } finally {
      if (!finished) await this.#run(method, "close", [id]);
    }
  }

  async #run(method: string, request: keyof typeof server, args: unknown[], signal?: AbortSignal): Promise<unknown> {
    try {
      return await this.#host.run(serverEntry(request), args, signal);
    } catch (cause) {
      if (!isMarinError(cause, "FRAY_WORKER_LOST") && !isMarinError(cause, "FRAY_WORKER_STOPPED")) throw cause;
      throw new MarinError("FRAY_ACTOR_UNAVAILABLE", `${method} of ${this.#who} has no answer. ${cause.message}`, { data: { ...cause.data, method }, cause });
    }
  }
}
