/** A TCP proxy for tests that can fall silent. */
import { connect, createServer, type AddressInfo, type Socket } from "node:net";

/** Passes bytes on until it is told to hold them: both ends then see an open connection on which nothing comes. */
export interface SilentProxy {
  readonly url: string;
  hold(): void;
  close(): void;
}

/** Starts one before a port of this machine. */
export async function silentProxy(port: number): Promise<SilentProxy> {
  const sockets: Socket[] = [];
  let held = false;
  const proxy = createServer((near) => {
    sockets.push(near);
    near.on("error", () => undefined);
    if (held) return void near.pause();
    const far = connect(port, "127.0.0.1");
    sockets.push(far);
    far.on("error", () => undefined);
    near.pipe(far).pipe(near);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  return {
    url: `ws://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    hold: () => {
      held = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    close: () => {
      proxy.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}
