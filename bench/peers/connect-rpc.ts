import { readFileSync } from "node:fs";
import { createServer } from "node:http2";
import { createRequire } from "node:module";
import type { AddressInfo } from "node:net";
import { createFileRegistry, fromJson, type DescMessage, type DescService } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient, type Client } from "@connectrpc/connect";
import { connectNodeAdapter, createConnectTransport } from "@connectrpc/connect-node";
import { descriptorSet } from "../rpc/descriptor.js";
import { runRpcPeer, type Echo } from "../rpc/peer.js";

const main = createRequire(import.meta.url).resolve("@connectrpc/connect-node");
// The package exports no package.json of its own: it lies above the file that it is loaded from.
const { version } = JSON.parse(readFileSync(main.replace(/connect-node\/dist\/.*$/, "connect-node/package.json"), "utf8")) as { version: string };
const service = createFileRegistry(fromJson(FileDescriptorSetSchema, descriptorSet())).getService("bench.Bench");
if (service === undefined) throw new Error("the descriptor has no such service");

interface BenchStub {
  echo(message: Echo): Promise<Echo>;
  flood(request: { readonly items: number; readonly bytes: number }): AsyncIterable<{ readonly data: Uint8Array }>;
}

await runRpcPeer({
  version: `connect-node ${version}, HTTP/2`,
  async serve() {
    const server = createServer(
      connectNodeAdapter({
        routes: (router) => {
          // Without generated code its types are not known.
          router.service(service as DescService, {
            echo: ({ name, count, body }: Echo & DescMessage) => ({ name, count, body }),
            async *flood({ items, bytes }: { items: number; bytes: number }) {
              const data = new Uint8Array(bytes);
              for (let item = 0; item < items; item += 1) yield { data };
            },
          } as never);
        },
      }),
    );
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  },
  connect(address) {
    const client: Client<DescService> = createClient(service, createConnectTransport({ baseUrl: address, httpVersion: "2" }));
    const stub = client as unknown as BenchStub;
    return Promise.resolve({
      echo: (message) => stub.echo(message),
      async *flood(request) {
        for await (const { data } of stub.flood(request)) yield data;
      },
      close: () => undefined,
    });
  },
});
