import { Connection, connectWebSocket, defineService, listenWebSocket, serverStream, unary } from "@marin/ducky";
import { z } from "zod";
import { runRpcPeer } from "../rpc/peer.js";

const echo = z.strictObject({ name: z.string(), count: z.int(), body: z.string() });

const service = defineService("bench", {
  echo: unary({ input: echo, output: echo }),
  flood: serverStream({ input: z.strictObject({ items: z.int(), bytes: z.int() }), output: z.instanceof(Uint8Array) }),
});

await runRpcPeer({
  version: "ducky",
  async serve() {
    const server = await listenWebSocket({
      onConnection: (transport) =>
        new Connection(transport).serve(service, {
          echo: (message) => message,
          *flood({ items, bytes }) {
            const part = new Uint8Array(bytes);
            for (let item = 0; item < items; item += 1) yield part;
          },
        }),
    });
    return server.url;
  },
  async connect(address) {
    const connection = new Connection(await connectWebSocket(address));
    const client = connection.client(service);
    return { echo: (message) => client.echo(message), flood: (request) => client.flood(request), close: () => connection.close() };
  },
});
