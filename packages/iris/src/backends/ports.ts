import { randomInt } from "node:crypto";
import { createServer } from "node:net";
import { MarinError } from "../platform.js";

/**
 * Ports are taken below the ranges from which operating systems give numbers to outgoing connections and to servers that ask for any
 * port: nobody gets one of these by chance between its choice and the task's own bind.
 */
const firstPort = 20_000;
const lastPort = 32_767;

/** Those promised to running tasks of this process, which may not have bound them yet. */
const promised = new Set<number>();

/** Free TCP ports, held for one task. */
export interface PortLease {
  /** The numbers by name. */
  readonly ports: Readonly<Record<string, number>>;
  /** Lets other tasks have them. */
  release(): void;
}

/**
 * Finds a free TCP port for each name and keeps it from other tasks of this process until released. "Free": no process listened on it, on
 * any address, a moment ago.
 *
 * @param names - the names, each once
 * @throws MarinError IRIS_NO_FREE_PORT when none is left
 */
export async function leasePorts(names: readonly string[]): Promise<PortLease> {
  const taken: number[] = [];
  const release = (): void => {
    for (const port of taken) promised.delete(port);
  };
  try {
    const ports: Record<string, number> = {};
    for (const name of names) {
      const port = await freePort();
      taken.push(port);
      ports[name] = port;
    }
    return { ports, release };
  } catch (error) {
    release();
    throw error;
  }
}

async function freePort(): Promise<number> {
  const count = lastPort - firstPort + 1;
  const start = randomInt(count);
  for (let offset = 0; offset < count; offset += 1) {
    const port = firstPort + ((start + offset) % count);
    if (promised.has(port)) continue;
    // Before the first await, so that two searches under way never try the same one.
    promised.add(port);
    if (await canListen(port)) return port;
    promised.delete(port);
  }
  throw new MarinError("IRIS_NO_FREE_PORT", `No TCP port between ${String(firstPort)} and ${String(lastPort)} is free on this machine.`, { data: { firstPort, lastPort } });
}

function canListen(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer();
    server.once("error", () => resolve(false));
    // Without a host: on every address, so that a listener on any of them is noticed.
    server.listen({ port, exclusive: true }, () => server.close(() => resolve(true)));
  });
}
