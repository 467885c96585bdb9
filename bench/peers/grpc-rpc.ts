import { createRequire } from "node:module";
import { credentials, loadPackageDefinition, Server, ServerCredentials, type GrpcObject, type ServerWritableStream, type ServiceClientConstructor, type ServiceError, type sendUnaryData, type ServerUnaryCall } from "@grpc/grpc-js";
import { loadFileDescriptorSetFromObject } from "@grpc/proto-loader";
import { descriptorSet } from "../rpc/descriptor.js";
import { runRpcPeer, type Echo } from "../rpc/peer.js";

const { version } = createRequire(import.meta.url)("@grpc/grpc-js/package.json") as { version: string };
const Bench = (loadPackageDefinition(loadFileDescriptorSetFromObject(descriptorSet()))["bench"] as GrpcObject)["Bench"] as ServiceClientConstructor;

interface FloodRequest {
  readonly items: number;
  readonly bytes: number;
}

interface BenchStub {
  echo(message: Echo, done: (error: ServiceError | null, answer: Echo) => void): void;
  flood(request: FloodRequest): AsyncIterable<{ readonly data: Uint8Array }>;
  close(): void;
}

await runRpcPeer({
  version: `grpc-js ${version}`,
  serve() {
    const server = new Server();
    server.addService(Bench.service, {
      echo: (call: ServerUnaryCall<Echo, Echo>, done: sendUnaryData<Echo>) => done(null, call.request),
      flood: (call: ServerWritableStream<FloodRequest, { data: Uint8Array }>) => {
        const data = Buffer.alloc(call.request.bytes);
        let left = call.request.items;
        const write = (): void => {
          while (left > 0) {
            left -= 1;
            if (!call.write({ data })) return void call.once("drain", write);
          }
          call.end();
        };
        write();
      },
    });
    return new Promise((resolve, reject) => {
      server.bindAsync("127.0.0.1:0", ServerCredentials.createInsecure(), (error, port) => (error === null ? resolve(`127.0.0.1:${port}`) : reject(error)));
    });
  },
  connect(address) {
    const stub = new Bench(address, credentials.createInsecure()) as unknown as BenchStub;
    return Promise.resolve({
      echo: (message) => new Promise<Echo>((resolve, reject) => stub.echo(message, (error, answer) => (error === null ? resolve(answer) : reject(error)))),
      async *flood(request) {
        for await (const { data } of stub.flood(request)) yield data;
      },
      close: () => stub.close(),
    });
  },
});
