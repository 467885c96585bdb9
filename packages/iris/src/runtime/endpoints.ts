import { MarinError } from "../platform.js";

/** An endpoint that a task offers. */
export interface EndpointHandle {
  /** Takes the endpoint out of the registry. A second call does nothing. */
  close(): Promise<void>;
}

/** Where tasks find each other: addresses by name, for all jobs of one controller. An endpoint is gone when the attempt that made it ends. */
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

/** An address offered under a name. */
export interface Endpoint {
  /** Names it for ever. */
  readonly id: string;
  readonly name: string;
  readonly address: string;
  readonly metadata: Readonly<Record<string, string>>;
  /** Whose end is its end. */
  readonly attempt: string;
  /** Who offers it; for messages. */
  readonly owner: string;
}

interface Leased {
  readonly endpoint: Endpoint;
  expiresAt: number;
}

/** The endpoints of one controller, or of one local context. */
export class EndpointTable {
  readonly #leaseMs: number;
  readonly #now: () => number;
  readonly #byName = new Map<string, Leased>();
  readonly #byId = new Map<string, Leased>();
  readonly #byAttempt = new Map<string, Set<Leased>>();

  /**
   * @param leaseMs - how long an endpoint is seen after it was offered or its lease was renewed, in milliseconds. Default for ever
   * @param now - the clock. Default the system's
   */
  constructor(leaseMs = Infinity, now: () => number = Date.now) {
    this.#leaseMs = leaseMs;
    this.#now = now;
  }

  /**
   * Offers an address. The same attempt may offer the same again.
   *
   * @returns what is offered now: the earlier one where it was offered before; and the one whose place it takes
   * @throws MarinError IRIS_ENDPOINT_TAKEN, IRIS_BAD_ENDPOINT
   */
  add(endpoint: Endpoint): { readonly offered: Endpoint; readonly replaced: Endpoint | undefined } {
    const { name, address, owner, attempt } = endpoint;
    if (!/^[^\s\p{Cc}]+$/u.test(name) || address === "") {
      throw new MarinError("IRIS_BAD_ENDPOINT", `An endpoint needs a name without spaces and an address, found ${JSON.stringify(name)} at ${JSON.stringify(address)}.`, { data: { name, address } });
    }
    const holder = this.#byName.get(name);
    if (holder !== undefined && holder.endpoint.attempt === attempt && holder.endpoint.address === address) {
      holder.expiresAt = this.#now() + this.#leaseMs;
      return { offered: holder.endpoint, replaced: undefined };
    }
    if (holder !== undefined && this.#isLeased(holder)) throw taken(endpoint.name, owner, holder.endpoint);
    if (holder !== undefined) this.#remove(holder);
    const leased: Leased = { endpoint, expiresAt: this.#now() + this.#leaseMs };
    this.#byName.set(name, leased);
    this.#byId.set(endpoint.id, leased);
    const own = this.#byAttempt.get(attempt);
    if (own === undefined) this.#byAttempt.set(attempt, new Set([leased]));
    else own.add(leased);
    return { offered: endpoint, replaced: holder?.endpoint };
  }

  /**
   * Lengthens the lease of an endpoint; one whose lease ran out is seen again.
   *
   * @throws MarinError IRIS_BAD_ENDPOINT when there is none of that id, or it is another attempt's
   */
  renew(id: string, attempt: string): void {
    const leased = this.#byId.get(id);
    if (leased?.endpoint.attempt !== attempt) throw new MarinError("IRIS_BAD_ENDPOINT", `There is no endpoint ${id} of this attempt any more: register it again.`, { data: { endpoint: id } });
    leased.expiresAt = this.#now() + this.#leaseMs;
  }

  /** Lengthens all leases of an attempt that is known to live. */
  renewAll(attempt: string): void {
    for (const leased of this.#byAttempt.get(attempt) ?? []) leased.expiresAt = this.#now() + this.#leaseMs;
  }

  /** Takes an endpoint of an attempt out. Gives it, or undefined where it is out already. */
  remove(id: string, attempt: string): Endpoint | undefined {
    const leased = this.#byId.get(id);
    if (leased?.endpoint.attempt !== attempt) return undefined;
    this.#remove(leased);
    return leased.endpoint;
  }

  /** Takes out all that an attempt offers, and gives it. */
  removeAll(attempt: string): Endpoint[] {
    const own = [...(this.#byAttempt.get(attempt) ?? [])];
    for (const leased of own) this.#remove(leased);
    return own.map(({ endpoint }) => endpoint);
  }

  /** The address offered under a name, or undefined. */
  resolve(name: string): string | undefined {
    const leased = this.#byName.get(name);
    return leased !== undefined && this.#isLeased(leased) ? leased.endpoint.address : undefined;
  }

  #isLeased({ expiresAt }: Leased): boolean {
    return this.#now() < expiresAt;
  }

  #remove(leased: Leased): void {
    const { id, name, attempt } = leased.endpoint;
    this.#byId.delete(id);
    if (this.#byName.get(name) === leased) this.#byName.delete(name);
    const own = this.#byAttempt.get(attempt);
    own?.delete(leased);
    if (own?.size === 0) this.#byAttempt.delete(attempt);
  }
}

/**
 * A registry for one local context, of its own.
 *
 * @param owner - who offers what is registered
 */
export function localRegistry(owner: string): Registry {
  const table = new EndpointTable();
  let last = 0;
  return {
    register: async (name, address, metadata = {}) => {
      last += 1;
      const id = String(last);
      const { offered } = table.add({ id, name, address, metadata, attempt: id, owner });
      return { close: async () => void table.remove(offered.id, id) };
    },
    resolve: async (name) => table.resolve(name),
  };
}

function taken(name: string, owner: string, holder: Endpoint): MarinError {
  return new MarinError("IRIS_ENDPOINT_TAKEN", `${owner} cannot offer "${name}": ${holder.owner} offers it already, at ${holder.address}.`, {
    data: { name, owner, holder: holder.owner, address: holder.address },
  });
}
