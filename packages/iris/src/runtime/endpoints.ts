import { MarinError } from "../platform.js";

/** An endpoint that a task offers. */
export interface EndpointHandle {
  /** Takes the endpoint out of the registry. A second call does nothing. */
  close(): Promise<void>;
}

/** Where tasks find each other: addresses by name, for all jobs of one client. An endpoint is gone when the attempt that made it ends. */
export interface Registry {
  /**
   * Offers an address under a name.
   *
   * @param name - unique among the living, for example "first-lm/completions"
   * @param address - how to reach it: "127.0.0.1:20713", "http://127.0.0.1:20713"
   * @param metadata - what else a caller should know. Default nothing
   * @throws MarinError IRIS_ENDPOINT_TAKEN (names the job that holds the name), IRIS_BAD_ENDPOINT
   */
  register(name: string, address: string, metadata?: Readonly<Record<string, string>>): Promise<EndpointHandle>;
  /** The address offered under a name, or undefined when nobody offers it now. */
  resolve(name: string): Promise<string | undefined>;
}

interface Endpoint {
  readonly name: string;
  readonly address: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Who offers it; for messages. */
  readonly owner: string;
}

/** The endpoints of one client, or of one local context. */
export class EndpointTable {
  readonly #endpoints = new Map<string, Endpoint>();

  /** The registry as one owner sees it, and a way to take out all that this owner has put in. */
  registryOf(owner: string): { readonly registry: Registry; readonly closeAll: () => void } {
    const own = new Set<Endpoint>();
    let closed = false;
    const remove = (endpoint: Endpoint): void => {
      own.delete(endpoint);
      if (this.#endpoints.get(endpoint.name) === endpoint) this.#endpoints.delete(endpoint.name);
    };
    return {
      registry: {
        register: async (name, address, metadata = {}) => {
          // A report of an attempt that has ended must not bring its address back.
          if (closed) throw new MarinError("IRIS_BAD_ENDPOINT", `${owner} has ended: it can offer no endpoint "${name}".`, { data: { name, owner } });
          const endpoint = this.#add({ name, address, metadata, owner });
          own.add(endpoint);
          return { close: async () => remove(endpoint) };
        },
        resolve: async (name) => this.resolve(name),
      },
      closeAll: () => {
        closed = true;
        for (const endpoint of [...own]) remove(endpoint);
      },
    };
  }

  /** The address offered under a name, or undefined. */
  resolve(name: string): string | undefined {
    return this.#endpoints.get(name)?.address;
  }

  #add(endpoint: Endpoint): Endpoint {
    const { name, address, owner } = endpoint;
    if (!/^[^\s\p{Cc}]+$/u.test(name) || address === "") {
      throw new MarinError("IRIS_BAD_ENDPOINT", `An endpoint needs a name without spaces and an address, found ${JSON.stringify(name)} at ${JSON.stringify(address)}.`, { data: { name, address } });
    }
    const holder = this.#endpoints.get(name);
    if (holder !== undefined) {
      throw new MarinError("IRIS_ENDPOINT_TAKEN", `${owner} cannot offer "${name}": ${holder.owner} offers it already, at ${holder.address}.`, {
        data: { name, owner, holder: holder.owner, address: holder.address },
      });
    }
    this.#endpoints.set(name, endpoint);
    return endpoint;
  }
}
