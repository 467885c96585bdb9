import { once } from "node:events";
import { createServer } from "node:net";
import { expect, test } from "vitest";
import { leasePorts } from "./ports.js";

test("ports of leases that are held at once differ, can be listened on, and lie where the system gives out none", async () => {
  const leases = await Promise.all(Array.from({ length: 40 }, () => leasePorts(["a", "b"])));
  const numbers = leases.flatMap(({ ports }) => Object.values(ports));
  expect(new Set(numbers).size).toBe(80);
  expect(Math.min(...numbers)).toBeGreaterThanOrEqual(20_000);
  expect(Math.max(...numbers)).toBeLessThan(32_768);
  const servers = numbers.map((port) => createServer().listen(port, "127.0.0.1"));
  await Promise.all(servers.map((server) => once(server, "listening")));
  for (const server of servers) server.close();
  for (const lease of leases) lease.release();
});

test("no names, no ports", async () => {
  expect((await leasePorts([])).ports).toEqual({});
});
