import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { afterEach, expect, test } from "vitest";
import { Connection, processTransport } from "../index.js";
import { childService } from "../../test/echo-child.js";

const script = fileURLToPath(new URL("../../test/echo-child.ts", import.meta.url));
const children: ChildProcess[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
});

function start() {
  const child = spawn(process.execPath, ["--conditions=@marin/source", "--import", "tsx", script], { stdio: ["ignore", "inherit", "inherit", "ipc"], serialization: "advanced" });
  children.push(child);
  const connection = new Connection(processTransport(child), { peer: "the child", streamWindowBytes: 2 ** 20 });
  return { child, connection, client: connection.client(childService) };
}

const failure = (work: Promise<unknown>): Promise<unknown> => work.then(() => "it did not fail", (error: unknown) => error);

test("calls, large values and streams cross; messages of others are left alone; a close ends the child", async () => {
  const { child, connection, client } = start();
  const foreign: unknown[] = [];
  child.on("message", (message) => {
    if (!(message instanceof Uint8Array)) foreign.push(message);
  });
  const large = new Uint8Array(20_000_000).map((_, place) => place % 251);
  expect(Buffer.from((await client.echo(large)) as Uint8Array).equals(large)).toBe(true);
  expect(foreign).toEqual([{ somebody: "else's message" }]);
  let taken = 0;
  for await (const item of client.flood(1_000)) {
    taken += 1;
    expect(item.length).toBe(10_000);
    if (taken === 500) expect(((await client.rest(null)) - taken) * item.length).toBeLessThan(1.2 * 2 ** 20);
  }
  expect(taken).toBe(1_000);
  connection.close();
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("a killed child fails what it has not answered", async () => {
  const { child, connection, client } = start();
  await client.echo(1);
  const call = failure(client.hang(null));
  child.kill("SIGKILL");
  expect(await call).toMatchObject({ code: "DUCKY_CLOSED", message: expect.stringContaining("the child") });
  await connection.closed;
  expect(await failure(client.echo(1))).toMatchObject({ code: "DUCKY_CLOSED" });
});

test("what was sent before a close arrives", async () => {
  const { child, client, connection } = start();
  await client.echo(1);
  const answers = failure(client.echo(new Uint8Array(5_000_000)));
  connection.close();
  expect(await answers).toMatchObject({ code: "DUCKY_CLOSED" });
  expect(await once(child, "exit")).toEqual([0, null]);
});

test("a process without a channel is refused", () => {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  children.push(child);
  expect(() => processTransport(child)).toThrow(expect.objectContaining({ code: "DUCKY_NO_CHANNEL" }));
});
