/** A child process that serves over its channel, run by tests. */
import { Connection, defineService, processTransport, serverStream, unary } from "@marin/ducky";
import { z } from "zod";

export const childService = defineService("test.child", {
  echo: unary({ input: z.unknown(), output: z.unknown() }),
  hang: unary({ input: z.null(), output: z.null() }),
  flood: serverStream({ input: z.number(), output: z.instanceof(Uint8Array) }),
  rest: unary({ input: z.null(), output: z.number() }),
});

if (process.send !== undefined && process.argv[1] === import.meta.filename) {
  const connection = new Connection(processTransport(process));
  let made = 0;
  process.send({ somebody: "else's message" });
  connection.serve(childService, {
    echo: (value) => value,
    hang: () => new Promise(() => undefined),
    async *flood(items) {
      for (made = 0; made < items; made += 1) yield new Uint8Array(10_000);
    },
    rest: () => made,
  });
  void connection.closed.then(() => process.exit(0));
}
