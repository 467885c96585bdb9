/** Writes down every call it carries out, before it answers; run by tests, to be killed. */
import { appendFileSync } from "node:fs";
import { Connection, defineService, listenWebSocket, unary } from "@marin/ducky";
import { z } from "zod";

/** Each call names itself. */
export const ledger = defineService("test.ledger", {
  once: unary({ input: z.number(), output: z.number() }),
  again: unary({ input: z.number(), output: z.number(), idempotent: true }),
});

const [, script, file] = process.argv;
if (script === import.meta.filename && file !== undefined) {
  const write = (kind: string) => (n: number) => {
    appendFileSync(file, `${kind} ${n}\n`);
    return n;
  };
  const server = await listenWebSocket({ onConnection: (transport) => new Connection(transport).serve(ledger, { once: write("once"), again: write("again") }) });
  process.stdout.write(`${server.url}\n`);
}
